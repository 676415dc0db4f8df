import EventLoop
import Queue

/// The broadcasts of a worker. A few per app are in progress at once; the others wait for their turn.
///
/// Broadcasts hold no permit while they wait, so their number is bounded: otherwise a backlog would be claimed whole.
@EventLoop
final class Broadcasts {
  /// Few, because pages take memory. Broadcasts of other apps do not wait.
  private static let maximumInProgressPerApp = 2
  private static let maximumWaitingPerApp = 6
  static let maximumTotal = 256
  /// When there is little room, an app may have fewer waiting broadcasts, so that a few apps cannot take all of it.
  private static let roomDivisor = 16

  private let context: PipelineContext
  private let composer: PushComposer
  /// By app, in the order of their claims; no array is empty.
  private var broadcasts: [String: [Broadcast]] = [:]
  private var count = 0
  private var isStopping = false

  init(_ context: PipelineContext, composer: PushComposer) {
    self.context = context
    self.composer = composer
  }

  func hasRoom(for app: String) -> Bool {
    guard !isStopping, count < Broadcasts.maximumTotal else { return false }
    let own = broadcasts[app, default: []]
    guard own.count < Broadcasts.room(ofOneApp: count) else { return false }
    return own.count(where: \.isWaiting) < Broadcasts.maximumWaitingPerApp
  }

  /// How many broadcasts one app may have while `count` of all apps are there.
  static func room(ofOneApp count: Int) -> Int {
    let most = maximumInProgressPerApp + maximumWaitingPerApp
    return min(most, max(1, (maximumTotal - count) / roomDivisor))
  }

  /// `enter` is called with the pushes of each page, `onEnd` once, unless the job was fenced.
  func begin(
    _ delivery: Delivery, _ app: String, enter: @escaping @EventLoop ([PushDraft]) -> Void,
    onEnd: @escaping @EventLoop (AttemptEnd) -> Void
  ) {
    let broadcast = Broadcast(delivery, app: app, context, composer, enter: enter) { [weak self] broadcast, end in
      self?.remove(broadcast)
      if let end { onEnd(end) }
    }
    broadcasts[app, default: []].append(broadcast)
    count += 1
    startNext(of: app)
  }

  /// Ends each broadcast after its current pages; another worker continues.
  func stop() {
    isStopping = true
    for broadcast in broadcasts.values.flatMap({ $0 }) { broadcast.stop() }
  }

  /// Ends the broadcasts that an operator has cancelled.
  func stopCancelled() {
    for broadcast in broadcasts.values.flatMap({ $0 }) where broadcast.delivery.claim.isCancelled { broadcast.stop() }
  }

  /// The broadcasts that were claimed from a queue.
  func claimed(queueIndex: Int) -> [Broadcast] {
    broadcasts.values.flatMap { $0 }.filter { $0.delivery.claim.queueIndex == queueIndex }
  }

  /// The lease was lost: drops the broadcasts whose jobs were fenced.
  func dropFenced() {
    for broadcast in broadcasts.values.flatMap({ $0 }) where broadcast.delivery.claim.isFenced { broadcast.abandon() }
  }

  private func remove(_ broadcast: Broadcast) {
    guard let index = broadcasts[broadcast.app]?.firstIndex(where: { $0 === broadcast }) else { return }
    broadcasts[broadcast.app]?.remove(at: index)
    if broadcasts[broadcast.app]?.isEmpty == true { broadcasts[broadcast.app] = nil }
    count -= 1
    startNext(of: broadcast.app)
  }

  private func startNext(of app: String) {
    guard !isStopping, let all = broadcasts[app] else { return }
    let room = Broadcasts.maximumInProgressPerApp - all.count { !$0.isWaiting }
    for broadcast in all.filter(\.isWaiting).prefix(max(0, room)) { broadcast.start() }
  }
}
