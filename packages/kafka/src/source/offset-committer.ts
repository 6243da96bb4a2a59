/**
 * Writes the positions of completed checkpoints back to a consumer group, so that Kafka's own tools
 * show the progress. For monitoring only: recovery reads the checkpoint. The broker accepts it
 * while the group has no members. A failure is counted and nothing more.
 */
import type { UserMetrics } from '@weir/core';
import type { KafkaCluster } from '../client/cluster.ts';
import { isCoordinatorMove, NONE } from '../wire/error-codes.ts';
import { OFFSET_COMMIT } from '../wire/offsets.ts';
import type { KafkaSplit } from './kafka-split.ts';

const REMEMBERED_MAX = 32;

export class OffsetCommitter {
  readonly #cluster: KafkaCluster;
  readonly #metrics: UserMetrics;
  readonly #groupId: string;
  readonly #positions = new Map<number, readonly KafkaSplit[]>();
  #committing: Promise<void> = Promise.resolve();
  #isBusy = false;

  constructor(cluster: KafkaCluster, metrics: UserMetrics, groupId: string) {
    this.#cluster = cluster;
    this.#metrics = metrics;
    this.#groupId = groupId;
  }

  /** The positions of a checkpoint, before it is known whether it will complete. */
  remember(checkpointId: number, splits: readonly KafkaSplit[]): void {
    this.#positions.set(checkpointId, splits);
    const [oldest] = this.#positions.keys();
    if (this.#positions.size > REMEMBERED_MAX && oldest !== undefined)
      this.#positions.delete(oldest);
  }

  commit(checkpointId: number): void {
    const splits = this.#positions.get(checkpointId);
    for (const id of this.#positions.keys()) if (id <= checkpointId) this.#positions.delete(id);
    if (splits === undefined || splits.length === 0 || this.#isBusy) return;
    this.#isBusy = true;
    this.#committing = this.#send(splits)
      .catch(() => this.#metrics.counter('offsetCommitFailures').add())
      .finally(() => {
        this.#isBusy = false;
      });
  }

  async close(): Promise<void> {
    await this.#committing;
  }

  async #send(splits: readonly KafkaSplit[]): Promise<void> {
    const topics = Map.groupBy(splits, (split) => split.topic);
    const place = { type: 'group', name: this.#groupId } as const;
    const results = await this.#cluster.callCoordinator(place, OFFSET_COMMIT, {
      groupId: this.#groupId,
      topics: [...topics].map(([topic, list]) => ({
        topic,
        partitions: list.map(({ partition, next }) => ({ partition, offset: next })),
      })),
    });
    const failed = results.find((result) => result.errorCode !== NONE);
    if (failed === undefined) return;
    if (isCoordinatorMove(failed.errorCode))
      this.#cluster.forgetCoordinator('group', this.#groupId);
    this.#metrics.counter('offsetCommitFailures').add();
  }
}
