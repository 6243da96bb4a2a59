/**
 * What a job sets while it builds its graph, as a layer of the configuration: above the defaults,
 * below the file and `-D` of the run.
 */
import { Configuration } from '../base/configuration.ts';
import type { ConfigSettings } from '../base/config-options.ts';
import { locationOfCaller } from './location.ts';
import type { MapLocation } from './location.ts';

export class SettingsInCode {
  readonly #given: Configuration;
  readonly #mapLocation: MapLocation | undefined;
  #code: Configuration = Configuration.empty;

  constructor(given: Configuration, mapLocation: MapLocation | undefined) {
    this.#given = given;
    this.#mapLocation = mapLocation;
  }

  /**
   * Sets options on behalf of a public method, which must be running.
   * @throws ConfigurationError when a value is not allowed.
   */
  set<O extends object>(settings: ConfigSettings, owner: O, method: keyof O & string): void {
    const origin = locationOfCaller(owner, method, this.#mapLocation) ?? 'code';
    this.#code = this.#code.mergedWith(Configuration.of(settings, origin));
  }

  /** What holds for the run, as far as the job has set it by now. */
  effective(): Configuration {
    return this.#code.mergedWith(this.#given);
  }
}
