/** The thread of a restore drill: restores one snapshot, reports, and ends. */
import { parentPort, workerData } from 'node:worker_threads';
import { toErrorInfo } from '../base/errors.ts';
import { drillSnapshot } from '../state/snapshot/drill-snapshot.ts';
import { LocalFileSystem } from '../storage/local-file-system.ts';
import { loadSnapshot } from '../storage/locate-snapshot.ts';
import { verifySnapshotDeep } from '../storage/verify-snapshot.ts';
import type { DrillOrder, DrillReport } from './drill-contract.ts';
import { realClock } from './real-clock.ts';

async function drill({ directory }: DrillOrder): Promise<DrillReport> {
  const io = { fileSystem: new LocalFileSystem(), clock: realClock };
  try {
    const snapshot = await loadSnapshot(io, directory);
    const [damage] = await verifySnapshotDeep(io, snapshot);
    if (damage !== undefined) throw damage;
    const result = await drillSnapshot({ ...io, directory }, snapshot.metadata);
    return { type: 'proven', result };
  } catch (error) {
    return { type: 'failed', error: toErrorInfo(error) };
  }
}

parentPort?.postMessage(await drill(workerData as DrillOrder));
