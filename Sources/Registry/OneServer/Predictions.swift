/// What will be stored about devices when the changes of this process that are under way are applied.
///
/// Redis carries out the changes of a connection in their order. So a change can be decided before the one before it is
/// applied; if that is not applied, Redis refuses this one, too, and it is decided again.
struct Predictions {
  private struct Prediction {
    var device: StoredDevice
    /// The number of changes under way.
    var changes = 0
    /// Counts the predictions that were wrong.
    var round = 0
  }

  private var predictions: [String: Prediction] = [:]

  /// Nil if no change of the device is under way.
  func device(_ token: String) -> StoredDevice? { predictions[token]?.device }

  /// Notes that a device is being changed. Returns the number for ``end(_:round:found:)``.
  mutating func begin(_ result: StoredDevice) -> Int {
    var prediction = predictions[result.token] ?? Prediction(device: result)
    prediction.device = result
    prediction.changes += 1
    predictions[result.token] = prediction
    return prediction.round
  }

  /// Notes that a change has ended. `found` is what is stored if the change was not applied, else nil.
  mutating func end(_ token: String, round: Int, found: StoredDevice?) {
    guard var prediction = predictions[token] else { return }
    prediction.changes -= 1
    if let found, prediction.round == round {
      prediction.device = found
      prediction.round += 1
    }
    predictions[token] = prediction.changes == 0 ? nil : prediction
  }
}
