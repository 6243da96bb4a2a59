/**
 * The word count of `word-count.ts` after a while: empty words would be left out by an operator
 * that is new, the counting operator has another name, and its state is an object where it was a
 * number. It goes on from a savepoint of the first version, which it brings to its own types.
 *
 *   weir check-upgrade SAVEPOINT examples/word-count-upgraded.ts --input … --output …
 *   weir run -s SAVEPOINT -p 3 examples/word-count-upgraded.ts --input … --output …
 */
import { basePath, fileSink, fileSource, job, lines, ndjson, valueState, type } from '@weir/core';

interface WordCount {
  readonly word: string;
  readonly count: number;
}

/** Version 1 was the number alone. */
interface Count {
  readonly times: number;
  /** Whether it has come since the upgrade. */
  readonly isNew: boolean;
}

export default job('word-count', (env) => {
  env.enableCheckpointing('500ms');
  const rate = env.args.number('rate', null);
  env
    .fromSource(
      fileSource({
        path: env.args.string('input'),
        format: lines(),
        ...(rate === null ? {} : { rate }),
      }),
      { uid: 'lines' },
    )
    .flatMap((line) => line.toLowerCase().match(/[a-z']+/g) ?? [])
    .uid('words')
    .filter((word) => word !== '')
    .uid('no-empty-words')
    .keyBy((word) => word)
    .process({
      emits: type<WordCount>(),
      state: {
        count: valueState<Count>({
          default: () => ({ times: 0, isNew: true }),
          version: 2,
          migrate: { 1: (times: number) => ({ times, isNew: false }) },
        }),
      },
      onElement(word, context) {
        const { count } = context.state;
        const times = count.value.times + 1;
        count.update({ times, isNew: true });
        context.emit({ word, count: times });
      },
    })
    .name('count words')
    .uid('counts')
    .sinkTo(
      fileSink({
        path: env.args.string('output'),
        format: ndjson<WordCount>(),
        bucket: basePath(),
      }),
    )
    .uid('counts-out');
});
