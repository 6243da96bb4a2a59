/**
 * What is known of a run at a moment: the events so far, folded. Counts in events begin anew with
 * each attempt of a task, so rates are taken between two reports and never below zero. Pure; both
 * the live block and the plain lines are drawn from it.
 */
import type { JobStatus } from '../../protocol/messages.ts';
import type { RunEvent, VertexProgress } from '../run-contract.ts';

export interface VertexView {
  readonly name: string;
  readonly parallelism: number;
  /** Records taken in, or for a source, given out, since the last restart. */
  readonly records: number;
  readonly perSecond: number;
  readonly busy: number;
  readonly backPressured: number;
  /** Counters above zero, such as `skippedRecords`. */
  readonly counters: readonly (readonly [string, number])[];
}

export interface CheckpointView {
  readonly id: number;
  readonly durationMs: number;
  readonly sizeBytes: number;
  /** On the clock that `apply` was given. */
  readonly completedAt: number;
}

export class RunProgress {
  jobName = '';
  parallelism = 0;
  status: JobStatus = 'CREATED';
  restarts = 0;
  failedCheckpoints = 0;
  checkpoint: CheckpointView | null = null;
  vertices: readonly VertexView[] = [];
  startedAt: number;
  #reportedAt: number;

  constructor(now: number) {
    this.startedAt = now;
    this.#reportedAt = now;
  }

  apply(event: RunEvent, now: number): void {
    switch (event.type) {
      case 'started':
        this.jobName = event.jobName;
        this.parallelism = event.parallelism;
        this.startedAt = now - event.elapsedMs;
        break;
      case 'statusChanged':
        this.status = event.status;
        break;
      case 'progress':
        this.#applyProgress(event.vertices, now);
        break;
      case 'checkpointCompleted': {
        const { checkpointId, durationMs, sizeBytes } = event;
        this.checkpoint = { id: checkpointId, durationMs, sizeBytes, completedAt: now };
        break;
      }
      case 'checkpointFailed':
        this.failedCheckpoints++;
        break;
      case 'restarting':
        this.restarts++;
        break;
      case 'printed':
      case 'log':
        break;
    }
  }

  #applyProgress(vertices: readonly VertexProgress[], now: number): void {
    const seconds = (now - this.#reportedAt) / 1000;
    this.#reportedAt = now;
    this.vertices = vertices.map((vertex, index) => {
      const records = vertex.recordsIn > 0 ? vertex.recordsIn : vertex.recordsOut;
      const before = this.vertices[index]?.records ?? 0;
      // A restarted task counts from zero again.
      const gained = records >= before ? records - before : records;
      return {
        name: vertex.name,
        parallelism: vertex.parallelism,
        records,
        perSecond: seconds > 0 ? gained / seconds : 0,
        busy: share(vertex.busy),
        backPressured: share(vertex.backPressured),
        counters: Object.entries(vertex.counters).filter(([, count]) => count > 0),
      };
    });
  }
}

function share(value: number): number {
  return Number.isFinite(value) ? Math.min(1, Math.max(0, value)) : 0;
}
