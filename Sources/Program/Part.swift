package import Backup
package import Dashboard
import EventLoop
package import Jobs
package import JSON
package import Operations
package import Redis
package import Registry
package import Sidecar
package import Usage
package import Worker

/// A feature that Martlet can be built without: it adds itself to the services, whose settings it extends, and has commands of its
/// own. `Parts.swift` of the program lists the parts.
package protocol Part: Sendable {
  /// The settings that only this part reads.
  static var settings: [Setting] { get }
  static var commands: [any Command.Type] { get }

  /// Called first, in every process of the program.
  static func prepare()

  /// The files of other senders that `martlet tokens import` reads.
  static var deviceFormats: [DeviceFormat] { get }

  /// Reads the settings of the notification classes that the part defines. Nil if it defines none.
  static func classes(_ reader: inout EnvironmentReader) -> (any JobClasses)?

  /// Reads the settings of what explains an addressee. Nil if the part knows nothing of addressees.
  static func explainer(_ reader: inout EnvironmentReader) -> (any AddresseeExplainer)?

  /// Each reads the settings of the part and adds it to a service.
  static func add(to worker: inout WorkerConfiguration, _ reader: inout EnvironmentReader)
  static func add(to sidecar: inout SidecarConfiguration, _ reader: inout EnvironmentReader)
  static func add(to dashboard: inout DashboardConfiguration, _ reader: inout EnvironmentReader)

  /// What operators are shown of the part. Nil if there is never anything.
  @EventLoop static func status(_ connection: RedisClient) async throws(RedisError) -> PartStatus?

  /// Further flags of `martlet doctor`.
  static var doctorFlags: [CommandOption] { get }

  /// What `martlet doctor` finds. `flags` are those of ``doctorFlags`` that were given.
  @EventLoop static func examine(_ worker: WorkerConfiguration, _ flags: Set<String>) async -> [Finding]

  /// Further subjects of `martlet explain`.
  static var subjects: [ExplainedSubject] { get }
}

extension Part {
  package static var settings: [Setting] { [] }
  package static var commands: [any Command.Type] { [] }
  package static func prepare() {}
  package static var deviceFormats: [DeviceFormat] { [] }
  package static func classes(_ reader: inout EnvironmentReader) -> (any JobClasses)? { nil }
  package static func explainer(_ reader: inout EnvironmentReader) -> (any AddresseeExplainer)? { nil }
  package static func add(to worker: inout WorkerConfiguration, _ reader: inout EnvironmentReader) {}
  package static func add(to sidecar: inout SidecarConfiguration, _ reader: inout EnvironmentReader) {}
  package static func add(to dashboard: inout DashboardConfiguration, _ reader: inout EnvironmentReader) {}
  @EventLoop package static func status(_ connection: RedisClient) async throws(RedisError) -> PartStatus? { nil }
  package static var doctorFlags: [CommandOption] { [] }
  @EventLoop package static func examine(_ worker: WorkerConfiguration, _ flags: Set<String>) async -> [Finding] { [] }
  package static var subjects: [ExplainedSubject] { [] }
}

/// Something that `martlet explain` tells about, by an option with its id.
package struct ExplainedSubject: Sendable {
  package typealias Explanation = (summary: AddresseeExplanation, object: JSONObject, isKnown: Bool)
  package typealias Explain =
    @EventLoop @Sendable (_ id: String, FleetQueues, Registry, _ showsWholeTokens: Bool) async throws -> Explanation

  package let option: String
  /// What the option does: a ``CommandOption/help``.
  package let help: String
  /// Explains the subject with this id.
  package let explain: Explain

  package init(_ option: String, _ help: String, _ explain: @escaping Explain) {
    self.option = option
    self.help = help
    self.explain = explain
  }
}
