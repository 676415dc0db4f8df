import Backup
import EventLoop
import Jobs
import Redis
import Registry
import Telemetry

/// Brings the devices of a backup.json into the registry, and logs what came of it. May be called again after a crash or a
/// failure: what is there already must not come twice.
public typealias BackupImport = @EventLoop @Sendable (_ path: String) async throws -> Void

/// The fallback of docs/http/broadcast-api.md: the backup file is brought in on a request for an app that has no devices,
/// once for the whole fleet.
@EventLoop
final class BackupFallback {
  private let path: String
  private let importBackup: BackupImport
  private let registry: Registry
  private let claim: ImportClaim
  private let log: Log
  private var isDone = false
  /// A file that cannot be read is not read anew for every request.
  private static let pauseNanoseconds: UInt64 = 1_000_000_000
  private var failedAt: UInt64?
  private var running: Task<Result<Void, Refusal>, Never>?

  init(path: String, backend: Backend, importBackup: @escaping BackupImport, log: Log) {
    self.path = path
    self.importBackup = importBackup
    self.log = log
    registry = backend.registry
    claim = ImportClaim(connection: backend.connection, owner: JobID.random())
  }

  /// Returns when the app's devices are there, as far as the file knows them. Requests that come meanwhile wait.
  func prepare(_ app: String) async throws(Refusal) {
    guard !isDone else { return }
    if let failedAt, Clock.monotonicNanoseconds - failedAt < BackupFallback.pauseNanoseconds {
      throw .backupIsUnreadable
    }
    if let running { return try await running.value.get() }
    let decision: ImportClaim.Decision
    do { decision = try await ask(for: app) } catch { throw Refusal(error) }
    switch decision {
    case .unneeded: return
    case .done: isDone = true
    case .busy:
      // Done while the answer was on its way.
      if isDone { return }
      guard let running else { throw .backupIsComing }
      try await running.value.get()
    case .granted:
      if let running { return try await running.value.get() }
      // It has ended already.
      guard isDone else { throw .backupIsUnreadable }
    }
  }

  private func start() {
    running = Task { @EventLoop in
      defer { running = nil }
      return await bringIn()
    }
  }

  private func ask(for app: String) async throws(RedisError) -> ImportClaim.Decision {
    let decision = try await claim.begin(hasDevices: true) { [self] in start() }
    guard decision == .unneeded, try await !hasDevices(app) else { return decision }
    return try await claim.begin(hasDevices: false) { [self] in start() }
  }

  /// A file that cannot be read holds the requests up: a first device would end the fallback for its app, and the others
  /// would be forgotten.
  private func bringIn() async -> Result<Void, Refusal> {
    var isImported = false
    do {
      try await importBackup(path)
      isImported = true
    } catch {
      log.error("the backup cannot be imported", ["path": .init(path), "reason": .init("\(error)")])
    }
    isDone = isImported
    if !isImported { failedAt = Clock.monotonicNanoseconds }
    do {
      try await claim.finish(isDone: isImported)
    } catch {
      // Should nobody learn that it is done, it is done again, which changes nothing.
      log.warn("the end of the backup's import could not be written down", ["error": .init("\(error)")])
    }
    return isImported ? .success(()) : .failure(.backupIsUnreadable)
  }

  private func hasDevices(_ app: String) async throws(RedisError) -> Bool {
    var cursor: AudienceCursor? = .start
    while let from = cursor {
      let page = try await registry.page(app: app, from: from)
      guard page.devices.isEmpty else { return true }
      cursor = page.next
    }
    return false
  }
}

extension Refusal {
  fileprivate static let backupIsUnreadable = Refusal(
    500, serverError, "The backup file cannot be imported; the log says why")

  fileprivate static let backupIsComing: Refusal = {
    var refusal = Refusal(503, "Service unavailable", "The backup file is being imported; try again")
    refusal.headers = [("Retry-After", "1")]
    return refusal
  }()
}
