/** Sums what tasks report over the subtasks of a vertex, and passes events on to the listener. */
import type { ErrorInfo } from '../base/errors.ts';
import { subtaskKey } from '../base/ids.ts';
import type { JobMasterListener } from '../jobmanager/job-master.ts';
import type { JobGraph } from '../protocol/job-graph.ts';
import type { JobStatus, TaskMetrics } from '../protocol/messages.ts';
import type { RunEvent, VertexProgress } from '../cli/run-contract.ts';

const REPORT_EVERY_MS = 1000;

export class ProgressReporter implements JobMasterListener {
  readonly #jobGraph: JobGraph;
  readonly #listener: (event: RunEvent) => void;
  readonly #latest = new Map<string, TaskMetrics>();
  /** Busy and back-pressured milliseconds at the last report, by vertex. */
  readonly #before = new Map<string, { busyMs: number; backPressuredMs: number }>();
  readonly #timer: NodeJS.Timeout;
  #reportedAt: number = performance.now();
  restarts = 0;
  completedCheckpoints = 0;

  constructor(jobGraph: JobGraph, listener: (event: RunEvent) => void) {
    this.#jobGraph = jobGraph;
    this.#listener = listener;
    this.#timer = setInterval(() => this.#report(), REPORT_EVERY_MS);
    this.#timer.unref();
  }

  close(): void {
    clearInterval(this.#timer);
    this.#report();
  }

  statusChanged(status: JobStatus, error: ErrorInfo | null): void {
    this.#listener({ type: 'statusChanged', status, error });
  }

  restarting(facts: { error: ErrorInfo; delayMs: number; tasks: number }): void {
    this.restarts++;
    this.#listener({ type: 'restarting', ...facts });
  }

  checkpointCompleted(facts: {
    checkpointId: number;
    durationMs: number;
    sizeBytes: number;
    directory: string;
  }): void {
    this.completedCheckpoints++;
    const { directory, ...rest } = facts;
    const path = directory === '' ? null : directory;
    this.#listener({ type: 'checkpointCompleted', ...rest, path });
  }

  checkpointFailed(facts: { checkpointId: number | null; reason: string; message: string }): void {
    this.#listener({ type: 'checkpointFailed', ...facts });
  }

  metrics(metrics: readonly TaskMetrics[]): void {
    for (const task of metrics)
      this.#latest.set(subtaskKey(task.execution.vertexId, task.execution.subtask), task);
  }

  #report(): void {
    const now = performance.now();
    const elapsedMs = Math.max(1, now - this.#reportedAt);
    this.#reportedAt = now;
    const tasks = [...this.#latest.values()];
    if (tasks.length === 0) return;
    const vertices = this.#jobGraph.vertices.map((vertex): VertexProgress => {
      const mine = tasks.filter((task) => task.execution.vertexId === vertex.id);
      const sum = (pick: (task: TaskMetrics) => number): number =>
        mine.reduce((total, task) => total + pick(task), 0);
      const busyMs = sum((task) => task.busyMs);
      const backPressuredMs = sum((task) => task.backPressuredMs);
      const before = this.#before.get(vertex.id) ?? { busyMs: 0, backPressuredMs: 0 };
      this.#before.set(vertex.id, { busyMs, backPressuredMs });
      const share = (ms: number): number =>
        Math.min(1, Math.max(0, ms / (elapsedMs * vertex.parallelism)));
      return {
        name: vertex.label ?? vertex.name,
        parallelism: vertex.parallelism,
        recordsIn: sum((task) => task.recordsIn),
        recordsOut: sum((task) => task.recordsOut),
        busy: share(busyMs - before.busyMs),
        backPressured: share(backPressuredMs - before.backPressuredMs),
        counters: countersOf(mine),
      };
    });
    this.#listener({ type: 'progress', vertices, tasks });
  }
}

function countersOf(tasks: readonly TaskMetrics[]): Readonly<Record<string, number>> {
  const counters: Record<string, number> = {};
  for (const task of tasks)
    for (const [name, count] of Object.entries(task.counters))
      counters[name] = (counters[name] ?? 0) + count;
  return counters;
}
