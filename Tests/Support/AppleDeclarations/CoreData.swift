// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

// One notification of Apple's Core Data, which docs/reminders/stores.md uses; its page is below
// https://developer.apple.com/documentation/foundation.
public import Foundation

// /nsnotification/name-swift.struct/nspersistentstoreremotechange (2026-11-26)
extension NSNotification.Name {
    public static let NSPersistentStoreRemoteChange = NSNotification.Name("")
}
