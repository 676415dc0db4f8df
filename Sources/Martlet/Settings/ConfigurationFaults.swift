import Telemetry

/// Every fault of a configuration.
package struct ConfigurationFaults: Error, Equatable {
  let faults: [EnvironmentReader.Fault]

  init(_ faults: [EnvironmentReader.Fault]) {
    self.faults = faults
  }

  /// One line each, for stderr.
  var text: String {
    let noun = faults.count == 1 ? "1 setting is" : "\(faults.count) settings are"
    return "martlet: \(noun) wrong\n" + faults.map { "  \(TerminalText.line("\($0)"))\n" }.joined()
  }
}
