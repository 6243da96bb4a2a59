/** What `weir check-upgrade` shows of an upgrade, line by line. Pure. */
import type { SinkStanding } from '../jobmanager/check-sinks.ts';
import type { StateFinding } from '../jobmanager/check-state-types.ts';
import type { OperatorFate, Upgrade } from '../jobmanager/check-upgrade.ts';
import { formatBytes, formatCount, formatNumberOf } from './text/format.ts';

/** @param laterCheckpoint with which a run has gone on since the snapshot; `null`: none known. */
export function upgradeLines(
  { operators, sinks }: Upgrade,
  laterCheckpoint: number | null,
): readonly string[] {
  const wentOn =
    laterCheckpoint === null
      ? []
      : [
          `  a run has gone on since, to checkpoint ${laterCheckpoint}: what its sinks published ` +
            'after the snapshot comes again',
        ];
  return [...operators.flatMap(operatorLines), ...sinks.map(sinkLine), ...wentOn];
}

function operatorLines(fate: OperatorFate): readonly string[] {
  const { operator, states, keyCount, sizeBytes } = fate;
  const amount = `${formatNumberOf(keyCount, 'key')}, ${formatBytes(sizeBytes)}`;
  switch (fate.fate) {
    case 'new':
      return [`  ${operator} is new and starts empty`];
    case 'dropped':
      return [`  ${operator} is gone: its state is dropped (${amount})`];
    case 'restored':
      return [`  ${operator}: ${amount}${parallelismText(fate)}`, ...states.map(stateLine)];
  }
}

function parallelismText({ storedParallelism, parallelism, maxParallelism }: OperatorFate): string {
  if (parallelism === null || storedParallelism === null) return '';
  if (parallelism === storedParallelism) return `, parallelism ${parallelism}`;
  return `, parallelism ${storedParallelism} -> ${parallelism} (at most ${maxParallelism})`;
}

function stateLine({ state, kind, fate, ...facts }: StateFinding): string {
  const { storedVersion, declaredVersion, sampled } = facts;
  const how =
    fate === 'dropped'
      ? 'is declared no more: dropped'
      : fate === 'as it is'
        ? 'is read as it is'
        : storedVersion === declaredVersion
          ? 'is checked by its schema'
          : `migrates from version ${storedVersion} to ${declaredVersion}`;
  const proof = sampled === 0 ? '' : `; ${formatCount(sampled)} keys were read`;
  return `    ${state} (${kind}) ${how}${proof}`;
}

function sinkLine({ sink, commits, isIdempotent, promised, obstacle }: SinkStanding): string {
  const head = `  sink ${sink}:`;
  if (obstacle !== null)
    return `${head} ${obstacle.code === 'SINK_AHEAD' ? 'is ahead of it' : 'cannot go on'}`;
  if (!commits) {
    const again = isIdempotent ? ', over themselves' : '';
    return `${head} records since the snapshot, if any, are written again${again}`;
  }
  const { committed, pending, gone } = promised;
  const parts = [`${committed} published`, `${pending} to be published at the start`];
  if (gone > 0) parts.push(`${gone} LOST: they cannot be published any more`);
  return `${head} of what the snapshot promises, ${parts.join(', ')}`;
}
