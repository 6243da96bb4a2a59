/**
 * The cells of the matrix of guarantees: what can differ along a path from a source to a sink. A
 * `CellGroup` is run as one job; it has a sink of every kind, so each of its cells is a path.
 */
import type { Guarantee } from '@weir/core/internal/api/stream-execution-environment';

export const SOURCES = ['offsets', 'none'] as const;
export const MODES = ['OFF', 'AT_LEAST_ONCE', 'EXACTLY_ONCE'] as const;
/** What the operator does when records are replayed, in the planner's words. */
export const OPERATORS = ['deterministic', 'order-dependent', 'undetermined'] as const;
export const SINKS = [
  'unacknowledged',
  'plain',
  'idempotent',
  'idempotent-converging',
  'write-ahead-log-separate',
  'write-ahead-log-atomic',
  'two-phase-commit',
] as const;

export interface CellGroup {
  readonly source: (typeof SOURCES)[number];
  readonly mode: (typeof MODES)[number];
  readonly operator: (typeof OPERATORS)[number];
}

export type SinkKind = (typeof SINKS)[number];

export const CELL_GROUPS: readonly CellGroup[] = SOURCES.flatMap((source) =>
  MODES.flatMap((mode) => OPERATORS.map((operator) => ({ source, mode, operator }))),
);

/** What a reader of a sink saw in some schedule. */
export interface Seen {
  /** The effect of a record is missing. */
  readonly isLost: boolean;
  /** The effect of a record is there twice. */
  readonly isDoubled: boolean;
}

/** What each level means: no more, and no less. */
export const SEEN_AT: Readonly<Record<Guarantee, Seen>> = {
  none: { isLost: true, isDoubled: true },
  'at-most-once': { isLost: true, isDoubled: false },
  'at-least-once': { isLost: false, isDoubled: true },
  'exactly-once': { isLost: false, isDoubled: false },
};
