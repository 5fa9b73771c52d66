package import RepriseWire

/// A message that somebody wants stored: what a `publish` asks for, by whichever way it came.
///
/// Here the body has been validated and is within ``RepriseWire/WireLimits/bodyBytes``; the log stores its bytes and never looks at
/// them. The id is unique over the whole log: see `AppendResult/duplicate(seq:)`.
package typealias NewMessage = ClientFrame.Publish
