/// What is wrong with a body, in the words of the document; 400.
struct BodyError: Error, Equatable {
  let text: String

  static let noObject = BodyError(text: "Request body must be a JSON object")
  static let tokenRequired = BodyError(text: "Push token is required")
  static let invalidToken = BodyError(text: "Invalid push token format")
  static let unsupportedPlatform = BodyError(text: "Unsupported push platform")
}
