import { TracerProvider } from '@opentelemetry/api'

/** Text '*' stands for any text; 'SCOPE:NAME' and 'SCOPE' are rules, too. */
export type Rule = string | { scope?: string; name?: string }

export interface Options {
  /** The spans that are off unless Hone wants them. Default: HONE_GATE_OFF, rules separated by commas. */
  off?: Rule[]
  /** Where hone-otel listens. Default: HONE_GATE_URL, or http://127.0.0.1:4318 */
  url?: string
  /** Name of the service. Default: that of the SDK's resource, or of OTEL_SERVICE_NAME. */
  service?: string
  /** Receives what is wrong with hone-otel, once for each kind. Default: diag.debug() */
  log?: (text: string) => void
}

export interface Installed {
  /** Puts the gate before a TracerProvider that is not registered globally. */
  wrap(provider: TracerProvider): TracerProvider
  /** Ends the polls. Spans that were on are off when their lease ends. */
  uninstall(): void
}

/** To be called before the SDK starts. */
export function install(options?: Options): Installed
