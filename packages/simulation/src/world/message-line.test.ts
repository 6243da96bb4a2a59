import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Life } from './life.ts';
import { MessageLine } from './message-line.ts';
import type { Message } from './message-line.ts';
import { Partitions } from './partitions.ts';
import { World } from './world.ts';

const execution = { vertexId: 'v', subtask: 0, attempt: { epoch: 1, counter: 1 } } as never;
const notify: Message = { type: 'notifyCheckpointComplete', execution, checkpointId: 1 };
const cancel: Message = { type: 'cancelTask', execution };

async function arrivalsOf(
  mood: { loss: number; duplication: number; lateness: number },
  messages: readonly Message[],
): Promise<readonly string[]> {
  const world = new World({ seed: 3, keepsTrace: false });
  const partitions = new Partitions();
  partitions.cut(2, 'to', 10);
  const line = new MessageLine(world, {
    mood,
    random: world.random('line'),
    receiver: new Life('thread', 0),
    latencyMs: () => 1,
    heldUntil: () => partitions.heldUntil(null, 2),
  });
  const arrived: string[] = [];
  for (const [index, message] of messages.entries())
    line.send(message, message.type, () => arrived.push(`${message.type} ${index}`));
  await world.run(() => false, 1000);
  assert.ok(messages.length === 0 || world.now >= 10, 'something came through a partition');
  return arrived;
}

test('messages keep their order, whatever a partition holds back', async () => {
  const mood = { loss: 0, duplication: 0, lateness: 0 };
  const sent = [cancel, notify, cancel];
  const arrived = ['cancelTask 0', 'notifyCheckpointComplete 1', 'cancelTask 2'];
  assert.deepEqual(await arrivalsOf(mood, sent), arrived);
});

test('only what the protocol can do without is lost, or comes twice', async () => {
  const lost = await arrivalsOf({ loss: 1, duplication: 0, lateness: 0 }, [cancel, notify]);
  assert.deepEqual(lost, ['cancelTask 0']);
  const twice = await arrivalsOf({ loss: 0, duplication: 1, lateness: 0 }, [cancel, notify]);
  assert.deepEqual(twice.toSorted(), [
    'cancelTask 0',
    'notifyCheckpointComplete 1',
    'notifyCheckpointComplete 1',
  ]);
});

test('what comes late is overtaken', async () => {
  const late = await arrivalsOf({ loss: 0, duplication: 0, lateness: 1 }, [notify, cancel]);
  assert.deepEqual(late, ['cancelTask 1', 'notifyCheckpointComplete 0']);
});
