// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

// Declarations of Apple's SwiftUI, as far as Examples/Shop uses them; nothing here does anything.
// Source: https://developer.apple.com/documentation/swiftui
@_exported public import Foundation
@_exported public import UIKit

@MainActor public protocol App {
    associatedtype Body: Scene
    var body: Body { get }
    init()
}

extension App { public static func main() { fatalError() } }

@MainActor public protocol Scene {}
@MainActor public protocol View {
    associatedtype Body: View
    @ViewBuilder var body: Body { get }
}

extension Never: View { public typealias Body = Never }

extension View where Body == Never { public var body: Never { fatalError() } }

public struct WindowGroup<Content: View>: Scene {
    public init(@ViewBuilder content: () -> Content) {}
}

@MainActor @resultBuilder public enum ViewBuilder {
    public static func buildBlock<each V: View>(_ view: repeat each V) -> Several<repeat each V> {
        fatalError()
    }
    public static func buildIf<V: View>(_ view: V?) -> Perhaps<V> { fatalError() }
}

public struct Several<each V: View>: View { public typealias Body = Never }
public struct Perhaps<V: View>: View { public typealias Body = Never }

public struct VStack<Content: View>: View {
    public init(spacing: CGFloat? = nil, @ViewBuilder content: () -> Content) {}
    public typealias Body = Never
}

public struct Text: View {
    public init(_ content: some StringProtocol) {}
    public typealias Body = Never
    public func font(_ font: Font?) -> Text { fatalError() }
}

public struct Font: Sendable { public static let title = Font() }
public struct Color: Sendable { public static let red = Color() }

public struct Button: View {
    public init(_ title: some StringProtocol, action: @escaping @MainActor () -> Void) {}
    public typealias Body = Never
}

extension View {
    public func foregroundStyle(_ style: Color) -> some View { self }
    public func task(_ action: @escaping @Sendable @isolated(any) () async -> Void) -> some View {
        self
    }
}

@propertyWrapper public struct State<Value> {
    public init(wrappedValue: Value) { fatalError() }
    public var wrappedValue: Value {
        get { fatalError() }
        nonmutating set { fatalError() }
    }
}

@MainActor @propertyWrapper
public struct UIApplicationDelegateAdaptor<Delegate: NSObject & UIApplicationDelegate> {
    public init(_ type: Delegate.Type = Delegate.self) { fatalError() }
    public var wrappedValue: Delegate { fatalError() }
}

// Foundation's, on Apple systems.
extension URL { public static var applicationSupportDirectory: URL { fatalError() } }
