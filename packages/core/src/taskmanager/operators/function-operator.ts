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
