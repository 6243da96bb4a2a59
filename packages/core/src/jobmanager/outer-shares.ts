/**
 * What the sinks of a job use up of one outer system, together: each may find room for itself where
 * there is none for all. Called before a run and by `weir explain`, with what the sinks were told.
 */
import type { OuterShare } from '../api/guarantee-facts.ts';
import { WeirError } from '../base/errors.ts';

export interface ShareOfSink extends OuterShare {
  /** Uid or name of the sink. */
  readonly sink: string;
}

/** An error of kind `user` for each system that has too little, with the number that is needed. */
export function tooLargeShares(shares: readonly ShareOfSink[]): readonly WeirError[] {
  const systems = [...Map.groupBy(shares, (share) => share.of).values()];
  return systems.flatMap(([first, ...others]) =>
    first === undefined ? [] : tooLarge(first, [first, ...others]),
  );
}

function tooLarge(first: ShareOfSink, all: readonly ShareOfSink[]): readonly WeirError[] {
  const { place, setting, max, remedy } = first;
  // Each counts those of the others among them.
  const used = Math.min(...all.map(({ usedByOthers }) => usedByOthers));
  const needed = all.reduce((sum, share) => sum + share.needed, 0);
  if (max - used >= needed) return [];
  const error = new WeirError(
    'user',
    `${place} has ${setting} = ${max}${used > 0 ? `, of which others use ${used}` : ''}; ` +
      `${needs(all, needed)}. Set ${setting} to at least ${used + needed} ${remedy}`,
    { code: 'SINK_REFUSED', details: { max, needed, usedByOthers: used } },
  );
  return [error];
}

function needs(all: readonly ShareOfSink[], needed: number): string {
  const [first, ...others] = all;
  if (others.length === 0) return `this sink needs ${needed} (${first?.reason})`;
  const each = all.map((share) => `${share.sink}: ${share.reason}`).join('; ');
  return `the ${all.length} sinks of this job that use it need ${needed} together (${each})`;
}
