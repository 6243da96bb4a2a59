/**
 * The REST API of a run in this process, and the note in the data folder that says where it is:
 * `<data>/jobs/<job-id>/rest.json`. Opened beside the job, never before it, and closed when whoever
 * asked for something was told what became of it.
 */
import { readFileSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import type { Random } from '../base/random.ts';
import type { JobMaster } from '../jobmanager/job-master.ts';
import { disposeSavepoint } from '../storage/dispose-savepoint.ts';
import { LocalFileSystem } from '../storage/local-file-system.ts';
import { realClock } from './real-clock.ts';

export interface RestEndpointOptions {
  readonly master: JobMaster;
  readonly port: number;
  readonly checkpointStorage: string;
  /** `null`: the address is noted nowhere. */
  readonly dataDirectory: string | null;
  readonly random: Random;
  readonly logger: Logger;
}

export interface RestEndpoint {
  close(): Promise<void>;
}

/** A run goes on without its API when that cannot be opened, and says so. */
export async function openRestEndpoint(options: RestEndpointOptions): Promise<RestEndpoint> {
  try {
    return await open(options);
  } catch (error) {
    const text = `no REST API for this run (rest.port ${options.port}): ${messageOf(error)}`;
    options.logger.log('warn', text);
    return { close: () => Promise.resolve() };
  }
}

async function open(options: RestEndpointOptions): Promise<RestEndpoint> {
  const { master, port, checkpointStorage, dataDirectory, random, logger } = options;
  const { AsyncOperations, RestServer } = await import('../rest/index.ts');
  const io = { fileSystem: new LocalFileSystem(), clock: realClock };
  const backend = {
    version: versionOf(join(import.meta.dirname, '../../package.json')),
    operations: new AsyncOperations(realClock, random),
    workingDirectory: process.cwd(),
    checkpointStorage,
    jobs: () => [master],
    wallTime: () => realClock.wallTime(),
    async disposeSavepoint(path: string): Promise<void> {
      const foreign = await disposeSavepoint(io, path, process.cwd());
      if (foreign.length > 0)
        logger.log('warn', `not deleted, since Weir did not write it: ${foreign.join(', ')}`);
    },
  };
  const server = await RestServer.start(backend, port);
  logger.log('debug', `REST API at http://${server.address}`);
  const note = dataDirectory === null ? null : join(dataDirectory, 'jobs', master.jobId);
  if (note !== null)
    await writeNote(note, server.address).catch((error: unknown) => {
      const text = `the address of the REST API is not noted: ${messageOf(error)}; give it by -m`;
      logger.log('warn', text);
    });
  return {
    async close() {
      await server.close();
      if (note !== null) await rm(join(note, NOTE), { force: true });
    },
  };
}

const NOTE = 'rest.json';

/** The run has made its folder; one that was taken away must not come back with this alone. */
async function writeNote(directory: string, address: string): Promise<void> {
  await writeFile(join(directory, NOTE), `${JSON.stringify({ address, pid: process.pid })}\n`);
}

function versionOf(manifest: string): string {
  const { version } = JSON.parse(readFileSync(manifest, 'utf8')) as { readonly version: string };
  return version;
}
