/** The Kafka sink stands the cases that every sink must stand, against the model of a broker. */
import { test } from 'node:test';
import { kafkaSink, text } from '@weir/kafka';
import type { KafkaSinkOptions } from '@weir/kafka';
import { ModelBroker } from '@weir/kafka/model';
import { sinkConformance } from '@weir/testing';
import type { AutoClock, ConformanceSystem, ProcessGate } from '@weir/testing';
import { KafkaError } from '../../packages/kafka/src/client/kafka-errors.ts';
import { openIds, visible } from '../../packages/kafka/src/model/sink-fixture.ts';

const TOPIC = 'out';
const PARTITIONS = 2;
const MINUTE_MS = 60_000;

class Broker implements ConformanceSystem<string> {
  readonly broker: ModelBroker;
  /** Connections of before a restart are broken. */
  starts = 0;
  readonly #clock: AutoClock;

  constructor(clock: AutoClock) {
    this.#clock = clock;
    this.broker = new ModelBroker({ clock });
    this.broker.createTopic(TOPIC, PARTITIONS);
  }

  visible(): readonly string[] {
    return visible({ broker: this.broker }, TOPIC, PARTITIONS);
  }

  unfinished(): readonly string[] {
    return openIds({ broker: this.broker });
  }

  expire(): void {
    this.#clock.advance(16 * MINUTE_MS);
  }

  restart(): void {
    this.starts++;
  }
}

function connectThrough(system: Broker, gate: ProcessGate): ModelBroker['connect'] {
  return async (host, port) => {
    const connection = await system.broker.connect(host, port);
    const { starts } = system;
    return {
      get isOpen() {
        return system.starts === starts;
      },
      call: (api, request) =>
        gate.call(api.name, () =>
          system.starts === starts ? connection.call(api, request) : Promise.reject(broken()),
        ),
      close: () => connection.close(),
    };
  };
}

function broken(): KafkaError {
  return new KafkaError('the broker closed the connection', { isTransient: true });
}

for (const delivery of ['exactly-once', 'at-least-once'] as const) {
  const options: KafkaSinkOptions<string> = {
    bootstrap: 'model:9092',
    topic: TOPIC,
    value: text(),
    delivery,
    reuseAfterCommits: 2,
  };
  const cases = sinkConformance(
    (system: Broker, gate) => kafkaSink<string>(options, connectThrough(system, gate)),
    (clock) => new Broker(clock),
    { record: (n) => `record ${n}` },
  );
  for (const { name, run } of cases) test(`kafkaSink, ${delivery}: ${name}`, run);
}
