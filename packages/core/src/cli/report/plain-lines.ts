/**
 * What a run says where no block can be drawn (a pipe, a file, a log collector), and above the
 * block where one can: one line for each thing that happens, and now and then one for the progress.
 * Pure: events in, lines out.
 */
import type { ErrorInfo } from '../../base/errors.ts';
import type { JobStatus } from '../../protocol/messages.ts';
import type { RunEvent } from '../run-contract.ts';
import {
  formatBytes,
  formatCount,
  formatElapsed,
  formatNumberOf,
  formatRate,
  formatShare,
} from '../text/format.ts';
import { oneLine } from '../text/width.ts';
import type { RunProgress } from './run-progress.ts';

export interface ReportLine {
  readonly text: string;
  /** `note` is part of the course of a run; the others are for whoever must act. */
  readonly level: 'note' | 'warning' | 'error';
}

const PROGRESS_EVERY_MS = 2000;
const CHECKPOINT_EVERY_MS = 1000;
const ENDED: readonly JobStatus[] = ['FINISHED', 'CANCELED', 'SUSPENDED', 'FAILED'];

/** Lines for what happens, without progress and checkpoints that went well. */
export function linesOf(event: RunEvent, progress: RunProgress, verbose: boolean): ReportLine[] {
  switch (event.type) {
    case 'started':
      return [note(event.start)];
    case 'statusChanged': {
      const isBack = event.status === 'RUNNING' && progress.restarts > 0;
      return isBack ? [note('running again')] : [];
    }
    case 'checkpointFailed': {
      // Given up because the job ends, by itself or by a stop: nothing that anybody must mend.
      if (event.reason === 'CHECKPOINT_COORDINATOR_SUSPEND' && !verbose) return [];
      const which =
        event.checkpointId === null ? 'a checkpoint' : `checkpoint ${event.checkpointId}`;
      return [warning(`${which} failed: ${oneLine(event.message)} (${event.reason})`)];
    }
    case 'restarting': {
      const delay = event.delayMs === 0 ? 'now' : `in ${formatElapsed(event.delayMs)}`;
      const tasks = formatNumberOf(event.tasks, 'task');
      return [warning(`restarting ${tasks} ${delay}, after: ${summaryOf(event.error)}`)];
    }
    case 'log':
      if (event.level === 'error') return [{ text: event.message, level: 'error' }];
      if (event.level === 'warn') return [warning(event.message)];
      return event.level === 'info' || verbose ? [note(event.message)] : [];
    case 'printed':
    case 'progress':
    case 'checkpointCompleted':
      return [];
  }
}

/** The lines about progress and checkpoints, no more often than a reader wants them. */
export class PeriodicLines {
  #progressAt: number;
  #checkpointAt = Number.NEGATIVE_INFINITY;

  constructor(now: number) {
    this.#progressAt = now;
  }

  lines(event: RunEvent, progress: RunProgress, now: number): ReportLine[] {
    if (event.type === 'progress' && now - this.#progressAt >= PROGRESS_EVERY_MS) {
      this.#progressAt = now;
      // How the run ended is told by lines of its own.
      if (ENDED.includes(progress.status)) return [];
      return [note(progressLine(progress, now))];
    }
    if (event.type === 'checkpointCompleted' && now - this.#checkpointAt >= CHECKPOINT_EVERY_MS) {
      this.#checkpointAt = now;
      const took = formatElapsed(event.durationMs);
      return [
        note(`checkpoint ${event.checkpointId}: took ${took}, ${formatBytes(event.sizeBytes)}`),
      ];
    }
    return [];
  }
}

function progressLine(progress: RunProgress, now: number): string {
  const vertices = progress.vertices.map(
    ({ name, records, perSecond, busy, counters }) =>
      `${oneLine(name)}: ${formatCount(records)} records, ${formatRate(perSecond)}, ` +
      `busy ${formatShare(busy)}` +
      counters.map(([key, count]) => `, ${oneLine(key)} ${formatCount(count)}`).join(''),
  );
  const elapsed = formatElapsed(now - progress.startedAt);
  return [`${progress.status.toLowerCase()} for ${elapsed}`, ...vertices].join(' | ');
}

/** Message and innermost cause, on one line. */
function summaryOf(error: ErrorInfo): string {
  let innermost = error;
  while (innermost.causes[0] !== undefined) innermost = innermost.causes[0];
  if (innermost === error || error.message.includes(innermost.message))
    return oneLine(error.message);
  return oneLine(`${error.message}: ${innermost.message}`);
}

function note(text: string): ReportLine {
  return { text, level: 'note' };
}

function warning(text: string): ReportLine {
  return { text, level: 'warning' };
}
