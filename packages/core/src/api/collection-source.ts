/**
 * The source behind `env.fromCollection`: values of the job module, read in order by one subtask.
 * The position is the index of the next value.
 */
import type {
  Source,
  SourceReader,
  SourceReaderContext,
  SplitEnumerator,
  SplitEnumeratorContext,
} from './source.ts';

interface CollectionSplit {
  readonly next: number;
}
/** Whether the only split was handed out. */
type EnumeratorState = { readonly unassigned: readonly CollectionSplit[] };

export function collectionSource<T>(
  values: readonly T[],
): Source<T, CollectionSplit, EnumeratorState> {
  return {
    name: 'Collection',
    boundedness: 'bounded',
    replay: 'offsets',
    createEnumerator,
    createReader: (context) => createReader(values, context),
    describeSplit: (split) => `value ${split.next} of ${values.length}`,
  };
}

function createEnumerator(
  context: SplitEnumeratorContext<CollectionSplit>,
  restored?: EnumeratorState,
): SplitEnumerator<CollectionSplit, EnumeratorState> {
  let unassigned = restored?.unassigned ?? [{ next: 0 }];
  return {
    start: () => undefined,
    handleSplitRequest: (subtask) => {
      if (unassigned.length > 0) context.assignSplits(subtask, unassigned);
      unassigned = [];
      context.signalNoMoreSplits(subtask);
    },
    addReader: () => undefined,
    addSplitsBack: (splits) => {
      unassigned = [...unassigned, ...splits];
    },
    snapshotState: () => ({ unassigned }),
    close: () => undefined,
  };
}

function createReader<T>(
  values: readonly T[],
  context: SourceReaderContext,
): SourceReader<T, CollectionSplit> {
  let next: number | null = null;
  let isEnding = false;
  return {
    start: () => context.sendSplitRequest(),
    poll: (output) => {
      if (next === null) return isEnding ? 'end' : 'nothing';
      while (next < values.length && output.remaining > 0)
        output.collect(values[next++]!, Number.NaN, '0');
      if (next < values.length) return 'more';
      next = null;
      return isEnding ? 'end' : 'nothing';
    },
    addSplits: (splits) => {
      for (const split of splits) next = split.next;
      context.wakeUp();
    },
    notifyNoMoreSplits: () => {
      isEnding = true;
      context.wakeUp();
    },
    snapshotState: () => (next === null ? [] : [{ next }]),
    close: () => undefined,
  };
}
