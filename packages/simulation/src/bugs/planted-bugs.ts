/**
 * Known mistakes, each a substitute for one method: proof that the simulation finds what it claims
 * to find. Every one must be found within 500 seeds.
 */
import { coordinatorBugs } from './coordinator-bugs.ts';
import { kafkaBugs } from './kafka-bugs.ts';
import { networkBugs } from './network-bugs.ts';
import { recoveryBugs } from './recovery-bugs.ts';
import { savepointBugs } from './savepoint-bugs.ts';
import { sinkBugs } from './sink-bugs.ts';
import { stateBugs } from './state-bugs.ts';
import { storageBugs } from './storage-bugs.ts';
import { taskBugs } from './task-bugs.ts';

export interface PlantedBug {
  readonly name: string;
  /** The one that finds it; default: random jobs under random faults. */
  readonly scenario?: string;
  /** Puts it in; the result takes it out again. */
  plant(): () => void;
}

export const PLANTED_BUGS: readonly PlantedBug[] = [
  ...coordinatorBugs,
  ...networkBugs,
  ...taskBugs,
  ...recoveryBugs,
  ...stateBugs,
  ...sinkBugs,
  ...storageBugs,
  ...savepointBugs,
  ...kafkaBugs,
];
