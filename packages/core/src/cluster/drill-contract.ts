/** What a run and the thread of its restore drill tell each other. */
import type { ErrorInfo } from '../base/errors.ts';
import type { DrillResult } from '../state/snapshot/drill-snapshot.ts';

export interface DrillOrder {
  /** Of the snapshot. */
  readonly directory: string;
}

export type DrillReport =
  | { readonly type: 'proven'; readonly result: DrillResult }
  | { readonly type: 'failed'; readonly error: ErrorInfo };
