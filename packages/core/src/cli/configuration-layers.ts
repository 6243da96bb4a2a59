/**
 * What is configured at the start of a run: the file `weir.yaml` of the current folder, or the one
 * that `--config` names, below what `-D` sets. The code of the job comes below both, later.
 */
import { Configuration } from '../base/configuration.ts';
import { ConfigurationError, messageOf } from '../base/errors.ts';
import { parseUserPath, userPathAdvice } from '../storage/paths.ts';
import type { Environment } from './environment.ts';
import { usageError } from './options.ts';

const DEFAULT_FILE = 'weir.yaml';
const DATA_DIRECTORY_VARIABLE = 'WEIR_DATA_DIR';

export interface GivenConfiguration {
  /** `--config`; `null`: `weir.yaml` if there is one. */
  readonly file: string | null;
  /** `-D`, in order. */
  readonly properties: readonly string[];
}

/** @throws ConfigurationError naming file, key and value; JobSubmissionError for a missing file. */
export async function readConfiguration(
  environment: Environment,
  { file, properties }: GivenConfiguration,
): Promise<Configuration> {
  // As with Flink, a key alone switches something on.
  const pairs = properties.map((pair) => (pair.includes('=') ? pair : `${pair}=true`));
  const fromFile = await readFileLayer(environment, file);
  return fromFile.mergedWith(Configuration.fromProperties(pairs));
}

/** Folder of a local run, absolute: from `-D`, else the variable, else the file, else `.weir`. */
export function dataDirectoryOf(configuration: Configuration, environment: Environment): string {
  const key = 'weir.data-dir';
  const variable = environment.variables[DATA_DIRECTORY_VARIABLE];
  const fromVariable = configuration.originOf(key) !== '-D' && Boolean(variable);
  const given = fromVariable ? variable! : configuration.get(key);
  const path = parseUserPath(given, environment.workingDirectory);
  if (path !== null) return path;
  const name = fromVariable ? DATA_DIRECTORY_VARIABLE : key;
  throw new ConfigurationError(
    `${name}: ${given} is not a folder of this machine: ${userPathAdvice(given)}`,
  );
}

async function readFileLayer(
  environment: Environment,
  file: string | null,
): Promise<Configuration> {
  const name = file ?? DEFAULT_FILE;
  const path = parseUserPath(name, environment.workingDirectory);
  const stat = path === null ? null : await environment.fileSystem.stat(path);
  if (path === null || stat === null) {
    if (file === null) return Configuration.empty;
    throw usageError(`there is no configuration file ${name}; check the path behind --config`);
  }
  const bytes = await environment.fileSystem.readFile(path);
  const content = await parseYaml(new TextDecoder().decode(bytes), name);
  return Configuration.fromObject(content, name);
}

async function parseYaml(text: string, name: string): Promise<object> {
  // Loaded late: most runs have no file.
  const { parse } = await import('yaml');
  let content: unknown;
  try {
    content = parse(text, { prettyErrors: true, logLevel: 'error' });
  } catch (error) {
    const [first] = messageOf(error).split('\n');
    throw new ConfigurationError(`${name} is not valid YAML: ${first?.replace(/:$/, '')}`);
  }
  if (content === null || content === undefined) return {};
  if (typeof content === 'object' && !Array.isArray(content)) return content;
  throw new ConfigurationError(`${name} must hold settings, as in "parallelism.default: 2"`);
}
