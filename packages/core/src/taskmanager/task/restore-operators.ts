/** Brings the state of a snapshot into the operators of a subtask, before they are opened. */
import type { TaskRestore } from '../../protocol/messages.ts';
import { restoreKeyed, restoreOperatorState, restoreTimers } from '../../state/snapshot/restore.ts';
import type { Subtask } from './build-subtask.ts';
import type { TaskEnvironment } from './task-environment.ts';

export async function restoreOperators(
  { fileSystem, clock, logger }: TaskEnvironment,
  subtask: Subtask,
  restore: TaskRestore,
): Promise<void> {
  const { watchesTypes = false } = restore;
  const environment = { fileSystem, clock, directory: restore.directory };
  for (const [index, operator] of subtask.vertex.operators.entries()) {
    const stored = restore.operators.find((it) => it.operatorId === operator.operatorId);
    const state = subtask.operatorStates[index];
    if (stored === undefined || state === undefined) continue;
    const warnings: string[] = [];
    if (state.keyed !== null && state.timers !== null) {
      warnings.push(...(await restoreKeyed(environment, state.keyed, stored.keyed, watchesTypes)));
      await restoreTimers(environment, state.timers, stored.keyed);
    }
    warnings.push(
      ...(await restoreOperatorState(
        environment,
        state.states,
        stored.operatorStates,
        watchesTypes,
      )),
    );
    for (const warning of warnings) logger.log('warn', warning);
  }
}
