/// Divides the permits among the apps whose pushes are in flight or wait. Pure.
///
/// An app may have at most 7 × free permits × its share of pushes in flight. Its share is its weight divided by the sum of
/// the weights of all active apps. A single active app gets seven eighths of the permits. Several divide seven eighths of
/// them by their shares, and an app gets more while the others use less than theirs. Some permits are always free, so that
/// jobs of other apps can still be claimed.
struct FairShares: Equatable {
  /// The pushes of all apps in flight per free permit.
  static let pushesPerFreePermit = 7
  /// Jobs of all apps that wait in memory, at most.
  static let maximumWaitingJobs = 256
  /// Bytes of these jobs, at most.
  static let maximumWaitingBytes = 4 * 1024 * 1024
  /// An app whose waiting jobs take longer than this to be sent is slow, in milliseconds.
  static let patience = 100

  /// What one app uses.
  struct App: Equatable {
    fileprivate(set) var share: Int
    /// Pushes in flight, at most; fewer while APNs answers slowly for the app.
    var limit: Int
    var inFlight = 0
    /// Jobs without a sent push, with or without a permit.
    var waitingJobs = 0
    /// Bytes of ``waitingJobs``.
    var waitingBytes = 0
    /// Jobs with pushes that wait, after others of them were sent.
    var startedJobs = 0
    /// Whether jobs beyond those that may wait are postponed.
    var isSlow = false

    init(share: Int, limit: Int) {
      self.share = share
      self.limit = limit
    }

    /// Only active apps have a part in the permits.
    var isActive: Bool { inFlight > 0 || waitingJobs > 0 || startedJobs > 0 }
  }

  enum Decision: Equatable {
    case send
    /// The job waits in memory and gives its permit back.
    case wait
    /// The job waits and keeps its permit: the app's pushes end quickly, so the claims of others are not delayed.
    case waitWithPermit
    /// The job goes back to Redis for a while.
    case postpone
  }

  /// Pushes in flight of all apps, at most.
  var limit: Int
  private(set) var inFlight = 0
  private(set) var waitingJobs = 0
  private(set) var waitingBytes = 0
  /// The sum of the shares of the active apps.
  private(set) var activeShares = 0

  init(limit: Int) {
    self.limit = limit
  }

  // MARK: - Decisions

  /// Whether the app may have one more push in flight. An app with none in flight may always send one.
  func maySend(_ app: App) -> Bool {
    guard inFlight < limit, app.inFlight < app.limit else { return false }
    guard app.inFlight > 0 else { return true }
    let free = limit - inFlight - 1
    return (app.inFlight + 1) * activeShares <= FairShares.pushesPerFreePermit * app.share * free
  }

  /// What to do with a job of `bytes` that holds a permit. A job never overtakes one that waits.
  func decide(_ app: App, bytes: Int) -> Decision {
    let hasRoom = hasRoom(app, bytes: bytes)
    if app.waitingJobs == 0, hasRoom, maySend(app) { return .send }
    if hasRoom { return .wait }
    return app.isSlow ? .postpone : .waitWithPermit
  }

  /// An app may use half of the room alone, and half of what others leave.
  private func hasRoom(_ app: App, bytes: Int) -> Bool {
    app.waitingJobs + app.startedJobs < FairShares.maximumWaitingJobs - waitingJobs
      && app.waitingBytes + bytes <= FairShares.maximumWaitingBytes - waitingBytes
  }

  // MARK: - Changes

  mutating func setShare(_ share: Int, _ app: inout App) {
    if app.isActive { activeShares += share - app.share }
    app.share = share
  }

  mutating func sent(_ app: inout App) {
    change(&app) { $0.inFlight += 1 }
    inFlight += 1
  }

  mutating func ended(_ app: inout App) {
    change(&app) { $0.inFlight -= 1 }
    inFlight -= 1
  }

  mutating func began(waiting bytes: Int, _ app: inout App) { wait(1, bytes, &app) }

  mutating func stopped(waiting bytes: Int, _ app: inout App) { wait(-1, -bytes, &app) }

  mutating func setStarted(_ jobs: Int, _ app: inout App) {
    if app.startedJobs != jobs { change(&app) { $0.startedJobs = jobs } }
  }

  private mutating func wait(_ jobs: Int, _ bytes: Int, _ app: inout App) {
    change(&app) { app in
      app.waitingJobs += jobs
      app.waitingBytes += bytes
    }
    waitingJobs += jobs
    waitingBytes += bytes
  }

  @inline(__always)
  private mutating func change(_ app: inout App, _ body: (inout App) -> Void) {
    let wasActive = app.isActive
    body(&app)
    guard app.isActive != wasActive else { return }
    activeShares += wasActive ? -app.share : app.share
  }
}
