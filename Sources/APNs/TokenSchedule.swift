/// When a provider token may be minted. All times are nanoseconds on CLOCK_MONOTONIC.
///
/// Apple refuses tokens older than 60 minutes, and providers that mint more often than every 20.
struct TokenSchedule {
  static let refreshAge = Duration.seconds(50 * 60).unsigned
  static let minimumAge = Duration.seconds(20 * 60).unsigned

  private(set) var generation = 0
  private var mintedAt: UInt64 = 0
  /// The one early mint that a refusal by APNs allows has been made.
  private var isEarlyMintSpent = false

  /// Nothing was minted yet, or the token is getting old.
  func isDue(now: UInt64) -> Bool {
    generation == 0 || now >= mintedAt + TokenSchedule.refreshAge
  }

  mutating func minted(now: UInt64) {
    generation += 1
    // Only a mint in due time: with each refused one it would be two in 20 minutes for as long as APNs refuses.
    if now >= mintedAt + TokenSchedule.refreshAge { isEarlyMintSpent = false }
    mintedAt = now
  }

  /// Whether to mint because APNs refused the token of `generation`.
  mutating func shouldMint(afterRefusalOf refused: Int, now: UInt64) -> Bool {
    guard refused == generation else { return false }
    if now >= mintedAt + TokenSchedule.minimumAge { return true }
    guard !isEarlyMintSpent else { return false }
    isEarlyMintSpent = true
    return true
  }
}
