/**
 * Counts words. For every occurrence of a word it writes `{"word": …, "count": n}`, where n is how
 * often the word has come so far, so the output shows whether a record was lost or counted twice.
 *
 *   weir run -p 2 examples/word-count.ts --input FILE_OR_FOLDER --output FOLDER [--rate LINES]
 *
 * Kill it at any moment and start the same command again: it goes on from the last checkpoint.
 */
import { basePath, fileSink, fileSource, job, lines, ndjson, valueState, type } from '@weir/core';

interface WordCount {
  readonly word: string;
  readonly count: number;
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
    .keyBy((word) => word)
    .process({
      emits: type<WordCount>(),
      state: { count: valueState({ default: 0 }) },
      onElement(word, context) {
        const count = context.state.count.value + 1;
        context.state.count.update(count);
        context.emit({ word, count });
      },
    })
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
