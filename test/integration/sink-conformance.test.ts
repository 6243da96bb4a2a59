/** The Kafka sink stands the cases that every sink must stand, against the model of a broker. */
import { test } from 'node:test';
import { kafkaSink, text } from '@weir/kafka';
import type { KafkaSinkOptions } from '@weir/kafka';
import { ModelBroker } from '@weir/kafka/model';
import { sinkConformance } from '@weir/testing';
import type { AutoClock, ConformanceSystem, ProcessGate } from '@weir/testing';
import { openIds, visible } from '../../packages/kafka/src/model/sink-fixture.ts';

const TOPIC = 'out';
const PARTITIONS = 2;
const MINUTE_MS = 60_000;

class Broker implements ConformanceSystem<string> {
  readonly broker: ModelBroker;
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
}

function connectThrough({ broker }: Broker, gate: ProcessGate): ModelBroker['connect'] {
  return async (host, port) => {
    const connection = await broker.connect(host, port);
    return {
      isOpen: true,
      call: (api, request) => gate.call(api.name, () => connection.call(api, request)),
      close: () => connection.close(),
    };
  };
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
