/**
 * Kafka's jars, copied once by Maven into a cache folder outside of the checkout. Answers the class
 * path, or the reason why there is none: no Java, no Maven, or no way to Maven Central.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);

const POM = fileURLToPath(new URL('./pom.xml', import.meta.url));
const MAVEN_LIMIT_MS = 300_000;

export type Jars =
  | { readonly classPath: string; readonly reason: null }
  | { readonly classPath: null; readonly reason: string };

function cacheFolder(): string {
  const { WEIR_KAFKA_CACHE, XDG_CACHE_HOME } = process.env;
  return WEIR_KAFKA_CACHE ?? join(XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'weir', 'kafka');
}

export async function kafkaJars(): Promise<Jars> {
  const digest = createHash('sha256').update(readFileSync(POM)).digest('hex').slice(0, 12);
  const folder = join(cacheFolder(), digest);
  const classPath = join(folder, '*');
  try {
    await run('java', ['-version']);
  } catch {
    return { classPath: null, reason: 'there is no java on the path' };
  }
  if (existsSync(folder)) return { classPath, reason: null };
  const unfinished = `${folder}.${process.pid}`;
  mkdirSync(unfinished, { recursive: true });
  copyFileSync(POM, join(unfinished, 'pom.xml'));
  const goal = ['dependency:copy-dependencies', '-DincludeScope=runtime'];
  const args = ['-q', '-B', '-f', join(unfinished, 'pom.xml'), ...goal];
  try {
    await run('mvn', [...args, `-DoutputDirectory=${unfinished}`], { timeout: MAVEN_LIMIT_MS });
    renameSync(unfinished, folder);
  } catch (error) {
    rmSync(unfinished, { recursive: true, force: true });
    // Another process may have been faster.
    if (existsSync(folder)) return { classPath, reason: null };
    const text = error instanceof Error ? error.message.split('\n', 2).join(' ') : String(error);
    return { classPath: null, reason: `mvn could not copy Kafka's jars: ${text}` };
  }
  return { classPath, reason: null };
}
