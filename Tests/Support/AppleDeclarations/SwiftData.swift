// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

// Declarations of Apple's SwiftData, as far as docs/reminders/stores.md uses it; nothing here does
// anything. Each type names its page below https://developer.apple.com/documentation/swiftdata.
// Not its macros, which are plug-ins of Xcode's compiler.
@_exported public import Foundation

// /persistentmodel (2026-11-26)
public protocol PersistentModel: AnyObject, Hashable {}

// /modelcontainer (2026-11-26)
public final class ModelContainer: Sendable {}

// /fetchdescriptor (2026-11-26)
public struct FetchDescriptor<T: PersistentModel> {
    public init(predicate: Predicate<T>? = nil) {}
}

// /modelcontext (2026-11-26)
public class ModelContext {
    public static let didSave = Notification.Name("")
    public init(_ container: ModelContainer) { fatalError() }
    public func fetch<T: PersistentModel>(_ descriptor: FetchDescriptor<T>) throws -> [T] {
        fatalError()
    }
    public func insert<T: PersistentModel>(_ model: T) { fatalError() }
    public func save() throws { fatalError() }
}
