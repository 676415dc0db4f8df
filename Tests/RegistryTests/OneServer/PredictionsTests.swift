import Testing

@testable import Registry

/// What is assumed about devices while their changes are under way.
struct PredictionsTests {
  private static let token = "token-predicted-0123456789abcdef"

  private func device(_ text: String) -> StoredDevice { StoredDevice(Self.token, Array(text.utf8)) }

  @Test func `the last change counts until all have ended`() {
    var predictions = Predictions()
    let first = predictions.begin(device("1"))
    let second = predictions.begin(device("2"))
    #expect(predictions.device(Self.token) == device("2"))
    predictions.end(Self.token, round: first, found: nil)
    #expect(predictions.device(Self.token) == device("2"))
    predictions.end(Self.token, round: second, found: nil)
    #expect(predictions.device(Self.token) == nil)
  }

  @Test func `one refused change is followed by others, which do not undo what was decided since`() {
    var predictions = Predictions()
    let first = predictions.begin(device("1"))
    let second = predictions.begin(device("2"))
    predictions.end(Self.token, round: first, found: device("other"))
    #expect(predictions.device(Self.token) == device("other"))
    let third = predictions.begin(device("3"))
    // It was decided before the first was refused.
    predictions.end(Self.token, round: second, found: device("other"))
    #expect(predictions.device(Self.token) == device("3"))
    predictions.end(Self.token, round: third, found: nil)
    #expect(predictions.device(Self.token) == nil)
  }
}
