/**
 * The textbook case of exactly-once state: numbers come in, and the running sums of the even and of
 * the odd ones go out, as `{"parity": …, "value": …, "sum": …}`.
 *
 *   weir run examples/even-odd-sum.ts --input FILE --output FOLDER [--fail-at N]
 *
 * The input has one number a line. With `--fail-at N` the job fails once, when it meets the number
 * N for the first time, restarts from its last checkpoint and ends with the same sums all the same.
 */
import { basePath, fileSink, fileSource, job, lines, ndjson, type, valueState } from '@weir/core';
import type { RuntimeContext } from '@weir/core';

interface ParitySum {
  readonly parity: 'even' | 'odd';
  readonly value: number;
  readonly sum: number;
}

export default job('even-odd-sum', (env) => {
  env.enableCheckpointing('100ms');
  const failAt = env.args.number('fail-at', null);
  let isFirstAttempt = true;
  env
    .fromSource(fileSource({ path: env.args.string('input'), format: lines() }), {
      uid: 'numbers',
    })
    .filter((line) => line.trim() !== '')
    .uid('not-empty')
    .map({
      open(context: RuntimeContext) {
        isFirstAttempt = context.attemptNumber === 0;
      },
      map(line: string): number {
        const value = Number(line);
        if (value === failAt && isFirstAttempt) throw new Error(`asked to fail at ${failAt}`);
        return value;
      },
    })
    .uid('parsed')
    .keyBy((value) => (value % 2 === 0 ? 'even' : 'odd'))
    .process({
      emits: type<ParitySum>(),
      state: { sum: valueState({ default: 0 }) },
      onElement(value, context) {
        const sum = context.state.sum.value + value;
        context.state.sum.update(sum);
        context.emit({ parity: context.key === 'even' ? 'even' : 'odd', value, sum });
      },
    })
    .uid('sums')
    .sinkTo(
      fileSink({
        path: env.args.string('output'),
        format: ndjson<ParitySum>(),
        bucket: basePath(),
      }),
    )
    .uid('sums-out');
});
