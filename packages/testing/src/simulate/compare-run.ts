/** Compares all sinks of a run with what they should hold. */
import { ConfigurationError } from '@weir/core';
import type { Sink, WriteMode } from '@weir/core';
import { compareOutput, countRepeated } from './compare-outputs.ts';
import type { Comparison, OutputDifference } from './compare-outputs.ts';
import { commits } from './memory-sinks.ts';
import type { OutputView } from './simulate-options.ts';

type Outputs = ReadonlyMap<string, readonly unknown[]>;

export interface SinkFacts {
  readonly key: string;
  readonly write: WriteMode;
  readonly comparison: Comparison;
  readonly view: OutputView;
}

export function sinkFacts(
  key: string,
  sink: Sink<unknown>,
  view: OutputView | undefined,
): SinkFacts {
  return { key, write: sink.write, comparison: comparisonOf(sink), view: view ?? ((all) => all) };
}

/**
 * A write-ahead log whose confirmation is apart from its data has a window in which both kinds of
 * failure cannot be told apart: its records may come twice.
 */
function comparisonOf(sink: Sink<unknown>): Comparison {
  const isAtomic = Reflect.get(sink, 'confirmation') === 'atomic';
  return commits(sink) && (sink.write !== 'write-ahead-log' || isAtomic) ? 'exact' : 'repeatable';
}

export function compareRun(
  sinks: readonly SinkFacts[],
  expected: Outputs,
  actual: Outputs,
): readonly OutputDifference[] {
  return sinks.flatMap(({ key, comparison, view }) => {
    const seen = (outputs: Outputs): readonly unknown[] => {
      const result: unknown = view(outputs.get(key) ?? []);
      if (Array.isArray(result)) return result;
      throw new ConfigurationError(
        `simulate: the view of the sink "${key}" returned ${String(result)}; it must return a list`,
      );
    };
    const difference = compareOutput(key, comparison, {
      expected: seen(expected),
      actual: seen(actual),
    });
    return difference === null ? [] : [difference];
  });
}

export function repeatedIn(sink: SinkFacts, expected: Outputs, actual: Outputs): number {
  if (sink.comparison === 'exact') return 0;
  return countRepeated(expected.get(sink.key) ?? [], actual.get(sink.key) ?? []);
}
