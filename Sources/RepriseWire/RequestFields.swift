/// The fields that the body of an HTTP request may have: any other is refused, so that a misspelled
/// one, or one of a later version, is not lost unnoticed.
///
/// Answers and frames are read tolerantly: unknown fields there are ignored.
package enum RequestFields {
    /// Of a channel's settings, and of a merge patch of them.
    package static let channel: [StaticString] = ["visibility", "history", "retention", "title"]
    package static let retention: [StaticString] = ["messages", "seconds", "bytes"]
    package static let member: [StaticString] = ["role"]
    package static let message: [StaticString] = ["id", "after", "edits", "deletes", "body"]
    /// Of an edit whose target is in the path.
    package static let edit: [StaticString] = ["id", "after", "body"]
    package static let position: [StaticString] = ["read", "delivered", "device"]
    package static let device: [StaticString] = ["platform", "pushToken", "webPush"]
    package static let profile: [StaticString] = ["name", "picture"]
    package static let presence: [StaticString] = ["hidden"]
    package static let mute: [StaticString] = ["until", "exceptMentions"]
    package static let silentElsewhere: [StaticString] = []
    package static let quietHours: [StaticString] = ["device", "from", "to", "timeZone"]
}
