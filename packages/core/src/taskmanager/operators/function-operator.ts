/** An operator around one function of the user: runs its `open` and `close`. */
import type { FunctionLifecycle } from '../../api/functions.ts';
import type { OperatorContext } from './stream-operator.ts';
import { StreamOperator } from './stream-operator.ts';

export abstract class FunctionOperator<F extends FunctionLifecycle> extends StreamOperator {
  protected readonly fn: F;

  constructor(context: OperatorContext, fn: F) {
    super(context);
    this.fn = fn;
  }

  /**
   * A method of the function that is called with an element and gives nothing back: what it throws,
   * and what it returns all the same, is told in its name.
   */
  protected guarded(method: string, call: (value: unknown) => unknown): (value: unknown) => void {
    return (value) => {
      try {
        const result = call(value);
        if (result !== undefined) this.checkResult(result, method);
      } catch (error) {
        throw this.failure(error, method);
      }
    };
  }

  override async open(): Promise<void> {
    try {
      await this.fn.open?.(this.context.runtime);
    } catch (error) {
      throw this.failure(error, 'open');
    }
  }

  override async close(): Promise<void> {
    try {
      await this.fn.close?.();
    } catch (error) {
      throw this.failure(error, 'close');
    }
  }
}
