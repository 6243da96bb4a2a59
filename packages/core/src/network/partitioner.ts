/**
 * Chooses the channel of a record. A partitioner belongs to one edge of one subtask and is called
 * for every record. Hash and custom must choose alike on every attempt; the others need not.
 */
import { UserFunctionError } from '../base/errors.ts';
import { checkKey, hashKey, keyGroupOf, subtaskOf } from '../base/key-groups.ts';
import type { Random } from '../base/random.ts';
import type { PartitionerSpec } from '../api/stream-graph.ts';

/** Returned for a record that goes to every channel. */
export const ALL_CHANNELS = -1;

/** Index of the channel for a record, or `ALL_CHANNELS`. Throws what the user's functions throw. */
export type ChannelSelector = (value: unknown) => number;

export interface PartitionerOptions {
  readonly spec: PartitionerSpec;
  /** Channels of this subtask's edge, in the order of consuming subtasks. */
  readonly channelCount: number;
  /** Key groups of the consuming vertex. */
  readonly maxParallelism: number;
  readonly random: Random;
  /** Name of the operator that emits, for error messages. */
  readonly operatorName: string;
}

export function createPartitioner(options: PartitionerOptions): ChannelSelector {
  const { spec, channelCount, random } = options;
  switch (spec.type) {
    case 'forward':
    case 'global':
      return () => 0;
    case 'rebalance':
    case 'rescale':
      return roundRobin(channelCount, random);
    case 'shuffle':
      return () => random.int(channelCount);
    case 'broadcast':
      return () => ALL_CHANNELS;
    case 'hash':
      return byKey(spec, options);
    case 'custom':
      return byFunction(spec, options);
  }
}

/** Starts anywhere, so that many producers of few records do not all feed the first consumer. */
function roundRobin(channelCount: number, random: Random): ChannelSelector {
  let next = random.int(channelCount);
  return () => {
    const channel = next;
    next = channel + 1 === channelCount ? 0 : channel + 1;
    return channel;
  };
}

function byKey(
  { keySelector }: PartitionerSpec & { type: 'hash' },
  options: PartitionerOptions,
): ChannelSelector {
  const channels = new KeyChannels(options);
  return (value) => channels.channelOf(keySelector(value));
}

/** The channels of a hash edge, by key group. */
export class KeyChannels {
  readonly #maxParallelism: number;
  readonly #byKeyGroup: Uint16Array;
  readonly #isOnly: boolean;
  readonly #where: string;

  constructor({ channelCount, maxParallelism, operatorName }: PartitionerOptions) {
    this.#maxParallelism = maxParallelism;
    this.#byKeyGroup = Uint16Array.from({ length: maxParallelism }, (_, group) =>
      subtaskOf(group, maxParallelism, channelCount),
    );
    this.#isOnly = channelCount === 1;
    this.#where = `keyBy behind operator "${operatorName}"`;
  }

  /** Throws KEY_INVALID for what cannot be a key. */
  channelOf(key: unknown): number {
    // Small integers are their own hash, and most keys are; see `hashKey`.
    const isOwnHash = typeof key === 'number' && (key | 0) === key;
    if (!isOwnHash) checkKey(key, this.#where);
    // To hash a text takes longer than all else that a record costs.
    if (this.#isOnly) return 0;
    const hash = isOwnHash ? key : hashKey(key);
    return this.#byKeyGroup[keyGroupOf(hash, this.#maxParallelism)] as number;
  }
}

function byFunction(
  { partitioner, keySelector }: PartitionerSpec & { type: 'custom' },
  { channelCount, operatorName }: PartitionerOptions,
): ChannelSelector {
  return (value) => {
    const channel = partitioner(keySelector(value), channelCount);
    if (Number.isInteger(channel) && channel >= 0 && channel < channelCount) return channel;
    throw new UserFunctionError(
      `the partitioner behind operator "${operatorName}" returned ${String(channel)}; it must ` +
        `return an integer from 0 to ${channelCount - 1}`,
      { details: { operator: operatorName, returned: String(channel), channelCount } },
    );
  };
}
