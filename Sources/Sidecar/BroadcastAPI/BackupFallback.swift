import Backup
import EventLoop
import Jobs
import Redis
import Registry
import Telemetry

/// Imports the devices of a backup file into the registry, and logs the result. May be called again after a crash or an
/// error, and must not create a device twice.
public typealias BackupImport = @EventLoop @Sendable (_ path: String) async throws -> Void

/// Imports the backup file on a request for an app without devices, once for all sidecars: docs/http/broadcast-api.md.
@EventLoop
final class BackupFallback {
  /// How long to wait after an error before the file is read again. Nanoseconds.
  private static let pause: UInt64 = 1_000_000_000

  private enum State {
    case idle
    case importing(Task<Result<Void, Refusal>, Never>)
    /// The import failed at this time. Monotonic nanoseconds.
    case failed(at: UInt64)
    case done
  }

  private let path: String
  private let importBackup: BackupImport
  private let registry: Registry
  private let claim: ImportClaim
  private let log: Log
  private var state = State.idle

  /// Returns nil if no file is configured, or Redis is not.
  init?(_ context: APIContext) {
    guard let path = context.configuration.backupPath, let backend = context.storage?.backend,
      let importBackup = backend.backupImport
    else { return nil }
    self.path = path
    self.importBackup = importBackup
    log = context.log
    registry = backend.registry
    claim = ImportClaim(connection: backend.connection, owner: JobID.random())
  }

  /// Returns when the devices that the file has for `app` are in the registry. Waits for an import that runs in this process.
  ///
  /// Throws 503 while another process imports, and 500 if the import failed.
  func prepare(_ app: String) async throws(Refusal) {
    if try await isPrepared() { return }
    let decision = try await refusingFaults(await claimImport(for: app))
    switch decision {
    case .unneeded: return
    case .done: state = .done
    case .busy:
      // This process may have started or finished the import while Redis answered.
      switch state {
      case .done: return
      case .importing(let task): try await task.value.get()
      case .idle, .failed: throw .backupIsBeingImported
      }
    case .granted:
      guard try await isPrepared() else { throw .backupImportFailed }
    }
  }

  /// Returns whether the import is done, and waits for a running one. Throws 500 if it failed.
  private func isPrepared() async throws(Refusal) -> Bool {
    switch state {
    case .done: return true
    case .importing(let task):
      try await task.value.get()
      return true
    case .failed(let time):
      if Clock.monotonicNanoseconds - time < BackupFallback.pause { throw .backupImportFailed }
      return false
    case .idle: return false
    }
  }

  private func claimImport(for app: String) async throws(RedisError) -> ImportClaim.Decision {
    let decision = try await claim.begin(hasDevices: true) { [self] in start() }
    guard decision == .unneeded, try await !hasDevices(app) else { return decision }
    return try await claim.begin(hasDevices: false) { [self] in start() }
  }

  private func start() {
    state = .importing(EventLoop.start { [self] in await runImport() })
  }

  /// Imports the file. After an error no request is carried out: the first device that is registered for an app would end the
  /// fallback for it, and the app's devices in the file would never be imported.
  private func runImport() async -> Result<Void, Refusal> {
    var isImported = false
    do {
      try await importBackup(path)
      isImported = true
    } catch {
      // Operator: Check `MARTLET_PUSH_SERVER_BACKUP`; it is tried again with a later request.
      log.error("the backup cannot be imported", ["path": .init(path), "reason": .init("\(error)")])
    }
    let end = isImported ? State.done : .failed(at: Clock.monotonicNanoseconds)
    do {
      try await claim.finish(isDone: isImported)
    } catch {
      // Another process may then import the file again, which changes nothing.
      // Operator: Check `MARTLET_PUSH_SERVER_BACKUP`; it is tried again with a later request.
      log.warn("the end of the backup's import could not be recorded in redis", ["error": .init("\(error)")])
    }
    state = end
    return isImported ? .success(()) : .failure(.backupImportFailed)
  }

  private func hasDevices(_ app: String) async throws(RedisError) -> Bool {
    var cursor: AudienceCursor? = .start
    while let from = cursor {
      let page = try await registry.audiencePage(of: app, from: from)
      guard page.devices.isEmpty else { return true }
      cursor = page.next
    }
    return false
  }
}

extension Refusal {
  fileprivate static let backupImportFailed = Refusal(
    .serverError, nil, "The backup file cannot be imported; the log says why")

  fileprivate static let backupIsBeingImported = Refusal.unavailable(
    "The backup file is being imported; try again", after: 1)
}
