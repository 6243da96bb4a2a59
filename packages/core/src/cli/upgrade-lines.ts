/** What `weir check-upgrade` shows of an upgrade, line by line. Pure. */
import type { SinkStanding } from '../jobmanager/check-sinks.ts';
import type { StateFinding } from '../jobmanager/check-state-types.ts';
import type { OperatorFate, Upgrade } from '../jobmanager/check-upgrade.ts';
import { formatBytes, formatNumberOf } from './text/format.ts';

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
  const { operator, states } = fate;
  const amount = amountOf(fate);
  switch (fate.fate) {
    case 'new':
      return [`  ${operator} is new and starts empty`];
    case 'dropped':
      return [`  ${operator} is gone: its state is dropped (${amount})`];
    case 'restored':
      return [`  ${operator}: ${amount}${parallelismText(fate)}`, ...states.flatMap(stateLines)];
  }
}

/** `4 keys, 120 B`; of a source or sink `2 items, 80 B`. */
function amountOf({ keyCount, itemCount, sizeBytes }: OperatorFate): string {
  const counts = [
    ...(keyCount > 0 ? [formatNumberOf(keyCount, 'key')] : []),
    ...(itemCount > 0 ? [formatNumberOf(itemCount, 'item')] : []),
  ];
  if (counts.length === 0 && sizeBytes === 0) return 'nothing stored';
  return [...counts, formatBytes(sizeBytes)].join(', ');
}

function parallelismText({ storedParallelism, parallelism, maxParallelism }: OperatorFate): string {
  if (parallelism === null || storedParallelism === null) return '';
  if (parallelism === storedParallelism) return `, parallelism ${parallelism}`;
  return `, parallelism ${storedParallelism} -> ${parallelism} (at most ${maxParallelism})`;
}

function stateLines(finding: StateFinding): readonly string[] {
  const { state, kind, scope, sampled } = finding;
  const what = formatNumberOf(sampled, scope === 'keyed' ? 'key' : 'item');
  const proof = sampled === 0 ? '' : `; ${what} ${sampled === 1 ? 'was' : 'were'} read`;
  return [`    ${state} (${kind}) ${fateText(finding)}${proof}`, ...hintLines(finding)];
}

function fateText({ fate, storedVersion, declaredVersion }: StateFinding): string {
  if (fate === 'dropped') return 'is declared no more: dropped';
  if (fate === 'as it is') return 'is read as it is';
  if (storedVersion === declaredVersion) return 'is checked by its schema';
  return `migrates from version ${storedVersion} to ${declaredVersion}`;
}

/** What nobody checked, and what the code may miss. */
function hintLines(finding: StateFinding): readonly string[] {
  const { fate, storedTypes, checkedBy, missingFields, storedVersion } = finding;
  if (fate !== 'as it is' || storedTypes.length === 0) return [];
  const types = storedTypes.join(' | ');
  if (checkedBy === null)
    return [
      `      its values are stored as ${types}; unchecked against your code, which gives the ` +
        (storedVersion === 1
          ? 'state no schema, no version and no default: if the type has changed, raise its version'
          : `state version ${storedVersion} as before, no schema and no default: if the type has ` +
            'changed again, raise its version'),
    ];
  if (missingFields.length === 0) return [];
  return [
    `      its values are stored as ${types}; ${missingFields.join(', ')} of its ${checkedBy} ` +
      'is missing in some and reads as undefined: with version and migrate it can be filled in',
  ];
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
