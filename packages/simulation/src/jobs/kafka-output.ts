/**
 * Kafka as an outer system: the model of a broker, and the real sink with its own requests, retries
 * and fencing. The broker outlives the processes; an answer reaches only who still lives, so a
 * crash falls between any two requests.
 */
import type { Sink } from '@weir/core/internal/api/sink';
import type { Clock } from '@weir/core/internal/base/clock';
import type { Random } from '@weir/core/internal/base/random';
import { json, kafkaSink } from '@weir/kafka';
import { ModelBroker } from '@weir/kafka/internal/model/model-broker';
import { openIds, visible } from '@weir/kafka/internal/model/sink-fixture';
import type { Life } from '../world/life.ts';
import { lifeOf } from '../world/simulated-clock.ts';
import type { World } from '../world/world.ts';
import type { OuterMood } from './outer-system.ts';
import type { SimulatedRecord } from './simulated-record.ts';

type Connect = ModelBroker['connect'];
type Connection = Awaited<ReturnType<Connect>>;

const PARTITIONS = 2;

export class KafkaOutput {
  readonly #world: World;
  readonly #mood: OuterMood;
  readonly #random: Random;
  readonly #broker: ModelBroker;
  readonly #topics = new Set<string>();

  constructor(world: World, mood: OuterMood, clock: Clock) {
    this.#world = world;
    this.#mood = mood;
    this.#random = world.random('kafka');
    this.#broker = new ModelBroker({ clock, fault: () => this.#fault() });
  }

  /** The sink as a job has it, once for each attempt that builds the job. */
  sink(topic: string): Sink<SimulatedRecord> {
    if (!this.#topics.has(topic)) this.#broker.createTopic(topic, PARTITIONS);
    this.#topics.add(topic);
    // Writer and committer of an attempt share what they know, so they share the sink.
    const sinks = new Map<Life, ReturnType<typeof kafkaSink<SimulatedRecord>>>();
    const sinkIn = (life: Life): ReturnType<typeof kafkaSink<SimulatedRecord>> => {
      const known = sinks.get(life);
      if (known !== undefined) return known;
      const made = kafkaSink<SimulatedRecord>(
        {
          bootstrap: 'model:9092',
          topic,
          value: json<SimulatedRecord>(),
          lingerMs: 1,
          reuseAfterCommits: 4,
          deliveryTimeoutMs: 5000,
        },
        this.#connectFor(life),
      );
      sinks.set(life, made);
      return made;
    };
    return {
      name: `kafka ${topic}`,
      write: 'two-phase-commit',
      createWriter: (context) => sinkIn(lifeOf(context.clock)).createWriter(context, []),
      createCommitter: (context) => {
        const committer = sinkIn(lifeOf(context.clock)).createCommitter?.(context);
        if (committer === undefined) throw new Error('the sink of Kafka has no committer');
        return committer;
      },
    };
  }

  /** What a reader at read_committed sees. */
  visible(topic: string): readonly SimulatedRecord[] {
    const world = { broker: this.#broker };
    return visible(world, topic, PARTITIONS).map((text) => JSON.parse(text) as SimulatedRecord);
  }

  /** Ids of transactions that nobody has ended. */
  open(): readonly string[] {
    return openIds({ broker: this.#broker });
  }

  #connectFor(life: Life): Connect {
    return async (host, port) => {
      const connection = await this.#broker.connect(host, port);
      const call: Connection['call'] = (api, request) =>
        new Promise((resolve, reject) => {
          const answer = (what: string, tell: () => void): void => {
            const delayMs = this.#random.next() * 2 * this.#mood.latencyMs;
            this.#world.schedule(life, delayMs, `${api.name} ${what}`, tell);
          };
          connection.call(api, request).then(
            (response) => answer('answered', () => resolve(response)),
            (error: unknown) =>
              answer('lost', () => reject(error instanceof Error ? error : new Error('lost'))),
          );
        });
      return { isOpen: true, call, close: () => Promise.resolve() };
    };
  }

  #fault(): 'none' | 'lose-request' | 'lose-answer' {
    const { isDown, failure, lostAnswer } = this.#mood;
    if (isDown || (failure > 0 && this.#random.next() < failure)) return 'lose-request';
    return lostAnswer > 0 && this.#random.next() < lostAnswer ? 'lose-answer' : 'none';
  }
}
