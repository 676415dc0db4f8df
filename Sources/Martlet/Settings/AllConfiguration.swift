import Worker

/// Everything `martlet all` is told: what both services are.
package struct AllConfiguration {
  let worker: WorkerConfiguration
  let sidecar: SidecarSettings

  /// Reports every fault of either, each once.
  init(environment values: [String: String]) throws(ConfigurationFaults) {
    let worker = Result { () throws(ConfigurationFaults) in try WorkerConfiguration(environment: values) }
    let sidecar = Result { () throws(ConfigurationFaults) in try SidecarSettings(environment: values) }
    switch (worker, sidecar) {
    case (.success(let worker), .success(let sidecar)):
      self.worker = worker
      self.sidecar = sidecar
    case (.failure(let first), .failure(let second)):
      throw ConfigurationFaults(first.faults + second.faults.filter { !first.faults.contains($0) })
    case (.failure(let faults), .success), (.success, .failure(let faults)): throw faults
    }
  }
}
