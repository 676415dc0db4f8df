import Testing

@testable import APNs

struct BackoffTests {
  /// Always gives the largest value.
  private struct Largest: RandomNumberGenerator {
    func next() -> UInt64 { .max }
  }

  @Test func `the ceiling doubles from the minimum to the maximum and starts over after a success`() {
    var backoff = Backoff(minimum: .seconds(1), maximum: .seconds(60))
    var generator = Largest()
    let waits = (0..<9).map { _ in backoff.next(using: &generator) }
    #expect(waits == [1, 2, 4, 8, 16, 32, 60, 60, 60].map { .seconds($0) })
    backoff.reset()
    #expect(backoff.next(using: &generator) == .seconds(1))
  }

  @Test func `waits are spread over the whole range`() {
    var backoff = Backoff(minimum: .seconds(1), maximum: .seconds(1))
    var generator = SystemRandomNumberGenerator()
    let waits = (0..<200).map { _ in backoff.next(using: &generator) }
    #expect(waits.allSatisfy { (.zero ... .seconds(1)).contains($0) })
    #expect(Set(waits).count > 100)
  }
}
