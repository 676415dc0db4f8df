package import JSON
import Telemetry

/// The faults of all settings that a program reads.
package struct ConfigurationFaults: Error, Equatable {
  package let faults: [InvalidValue]

  package init(_ faults: [InvalidValue]) {
    self.faults = faults
  }

  /// A line for each fault, for stderr.
  package var text: String {
    let noun = faults.count == 1 ? "1 setting is" : "\(faults.count) settings are"
    let lines = faults.map { "  \(TerminalText.line("\($0.title): \($0.seen); expected \($0.expected)"))\n" }
    return "martlet: \(noun) invalid\n" + lines.joined()
  }
}

extension InvalidValue {
  /// The name that was set, with the one that it stands for.
  package var title: String { place + (APNsSettings.name(of: place).map { " (or \($0))" } ?? "") }
}
