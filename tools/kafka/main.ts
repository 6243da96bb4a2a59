/**
 * `npm run kafka -- TOPIC…`: a broker on port 9092 with these topics, of four partitions each, for
 * whoever wants to try a job and has no Kafka. Ctrl-C ends it and removes what it stored.
 */
import { once } from 'node:events';
import { startBroker } from './broker.ts';
import { kafkaJars } from './jars.ts';

const PORT = 9092;
const PARTITIONS = '4';

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

async function main(topics: readonly string[]): Promise<number> {
  say('starting Apache Kafka (the first time its jars are fetched from Maven Central)');
  const broker = await startBroker({ port: PORT });
  if (typeof broker === 'string') {
    say(`there is no Kafka broker: ${broker}`);
    return 1;
  }
  try {
    const server = `--bootstrap-server localhost:${PORT}`;
    for (const topic of topics) {
      const create = `${server} --create --partitions ${PARTITIONS} --topic`.split(' ');
      await broker.tool('org.apache.kafka.tools.TopicCommand', [...create, topic]);
    }
    const { classPath } = await kafkaJars();
    const java = `java -cp '${classPath}' org.apache.kafka.tools`;
    const [topic = 'TOPIC'] = topics;
    say(`Kafka listens on localhost:${PORT}; Ctrl-C ends it and removes its data`);
    say(`write lines:    ${java}.ConsoleProducer ${server} --topic ${topic}`);
    say(
      `read committed: ${java}.consumer.ConsoleConsumer ${server} --topic ${topic} ` +
        '--from-beginning --isolation-level read_committed',
    );
    await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);
    return 0;
  } finally {
    await broker.stop();
  }
}

process.exitCode = await main(process.argv.slice(2));
