/** State and timers of an operator that works on keys, as the task gives them to the operator. */
import type { KeySelector, KeyValue } from '../../api/functions.ts';
import type { KeyedStateBackend } from '../../state/keyed-state-backend.ts';
import type { InternalTimers } from '../../state/timers/internal-timers.ts';

export interface KeyedState {
  readonly backend: KeyedStateBackend;
  readonly timers: InternalTimers;
  /** By input index. */
  readonly keySelectors: readonly KeySelector<unknown, KeyValue>[];
}
