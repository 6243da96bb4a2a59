/** Reads a topic back with Kafka's own console consumer, which knows nothing of this project. */
import type { Broker } from './broker.ts';

export interface ConsoleRead {
  readonly topic: string;
  /** Ends after so many records, or when none comes for `idleMs`. */
  readonly count?: number;
  readonly isolation?: 'read_committed' | 'read_uncommitted';
  readonly idleMs?: number;
}

/** Lines `key<TAB>value`, in the order of arrival. */
export async function consoleRead(broker: Broker, read: ConsoleRead): Promise<string[]> {
  const { topic, count, isolation = 'read_committed', idleMs = 2000 } = read;
  const options =
    `--bootstrap-server ${broker.address} --topic ${topic} --from-beginning ` +
    `--isolation-level ${isolation} --timeout-ms ${idleMs} --formatter-property print.key=true` +
    (count === undefined ? '' : ` --max-messages ${count}`);
  const consumer = 'org.apache.kafka.tools.consumer.ConsoleConsumer';
  const output = await broker.tool(consumer, options.split(' '));
  return output.split('\n').filter((line) => line !== '');
}
