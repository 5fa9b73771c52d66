// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

// Declarations of Apple's SwiftUI, as far as RepriseUI and Examples/Courier use them; nothing here
// does anything. Each group names its page below https://developer.apple.com/documentation/swiftui.
@_exported public import Foundation
public import Observation

#if REPRISE_MAC
    @_exported public import AppKit
#else
    @_exported public import UIKit
#endif

// /app, /scene, /scenebuilder, /windowgroup, /scenephase (2026-11-24)
@MainActor public protocol App {
    associatedtype Body: Scene
    @SceneBuilder var body: Body { get }
    init()
}
extension App { public static func main() { fatalError() } }

@MainActor public protocol Scene {
    associatedtype Body: Scene
    var body: Body { get }
}
extension Scene where Body == Never { public var body: Never { fatalError() } }
@resultBuilder public enum SceneBuilder {
    public static func buildBlock<S: Scene>(_ scene: S) -> S { scene }
}
public struct WindowGroup<Content: View>: Scene {
    public typealias Body = Never
    nonisolated public init(@ViewBuilder content: () -> Content) {}
}
public enum ScenePhase: Comparable, Sendable { case background, inactive, active }

// /view, /viewbuilder, /tupleview, /viewmodifier, /modifiedcontent (2026-11-24)
@MainActor @preconcurrency public protocol View {
    associatedtype Body: View
    @ViewBuilder @MainActor @preconcurrency var body: Body { get }
}
extension Never: View, Scene {
    public typealias Body = Never
    public var body: Never { fatalError() }
}
extension View where Body == Never { public var body: Never { fatalError() } }
extension Optional: View where Wrapped: View { public typealias Body = Never }

@resultBuilder public enum ViewBuilder {
    public static func buildExpression<V: View>(_ view: V) -> V { view }
    public static func buildBlock<each V: View>(_ view: repeat each V) -> TupleView<repeat each V> {
        fatalError()
    }
    public static func buildBlock<V: View>(_ view: V) -> V { view }
    public static func buildIf<V: View>(_ view: V?) -> V? { view }
    public static func buildEither<A: View, B: View>(first: A) -> ConditionalContent<A, B> {
        fatalError()
    }
    public static func buildEither<A: View, B: View>(second: B) -> ConditionalContent<A, B> {
        fatalError()
    }
}
public struct TupleView<each V: View>: View { public typealias Body = Never }
public struct ConditionalContent<A: View, B: View>: View { public typealias Body = Never }

@MainActor @preconcurrency public protocol ViewModifier {
    associatedtype Body: View
    typealias Content = ModifiedContentOf<Self>
    @ViewBuilder @MainActor @preconcurrency func body(content: Content) -> Body
}
public struct ModifiedContentOf<Modifier>: View { public typealias Body = Never }
public struct ModifiedContent<Content, Modifier> {}
extension ModifiedContent: View where Content: View, Modifier: ViewModifier {
    public typealias Body = Never
}
extension View {
    nonisolated public func modifier<M: ViewModifier>(_ modifier: M) -> ModifiedContent<Self, M> {
        fatalError()
    }
}

// /state, /binding, /environment, /environmentvalues (2026-11-24)
@propertyWrapper public struct State<Value> {
    public init(wrappedValue: Value) { fatalError() }
    public var wrappedValue: Value {
        get { fatalError() }
        nonmutating set { fatalError() }
    }
    public var projectedValue: Binding<Value> { fatalError() }
}
@propertyWrapper @dynamicMemberLookup public struct Binding<Value> {
    public init(projectedValue: Binding<Value>) { fatalError() }
    public var wrappedValue: Value {
        get { fatalError() }
        nonmutating set { fatalError() }
    }
    public subscript<Subject>(
        dynamicMember keyPath: WritableKeyPath<Value, Subject>
    ) -> Binding<Subject> { fatalError() }
}
@propertyWrapper public struct Environment<Value> {
    public init(_ keyPath: KeyPath<EnvironmentValues, Value>) { fatalError() }
    public init(_ objectType: Value.Type) where Value: AnyObject, Value: Observable { fatalError() }
    public var wrappedValue: Value { fatalError() }
}
public struct EnvironmentValues: Sendable { public var scenePhase: ScenePhase { fatalError() } }

// /view/environment(_:), /view/onchange(of:initial:_:), /view/onappear(perform:),
// /view/ondisappear(perform:), /view/onopenurl(perform:),
// /view/task(name:priority:file:line:_:) (2026-11-24)
extension View {
    nonisolated public func environment<T: AnyObject & Observable>(_ object: T?) -> some View {
        Changed()
    }
    nonisolated public func onChange<V: Equatable>(
        of value: V, initial: Bool = false,
        _ action: @escaping (_ oldValue: V, _ newValue: V) -> Void
    ) -> some View { Changed() }
    nonisolated public func onAppear(perform action: (() -> Void)? = nil) -> some View { Changed() }
    nonisolated public func onDisappear(perform action: (() -> Void)? = nil) -> some View {
        Changed()
    }
    nonisolated public func onOpenURL(perform action: @escaping (URL) -> Void) -> some View {
        Changed()
    }
    nonisolated public func task(
        priority: TaskPriority = .userInitiated,
        @_inheritActorContext _ action: sending @escaping @isolated(any) () async -> Void
    ) -> some View { Changed() }
}
struct Changed: View { typealias Body = Never }

// /view/navigationtitle(_:), /view/font(_:), /view/foregroundstyle(_:), /view/pickerstyle(_:),
// /view/buttonstyle(_:), /view/tag(_:includeoptional:),
// /view/confirmationdialog(_:ispresented:titlevisibility:actions:) (2026-11-24)
extension View {
    nonisolated public func navigationTitle<S: StringProtocol>(_ title: S) -> some View {
        Changed()
    }
    nonisolated public func font(_ font: Font?) -> some View { Changed() }
    nonisolated public func foregroundStyle<S: ShapeStyle>(_ style: S) -> some View { Changed() }
    nonisolated public func pickerStyle<S: PickerStyle>(_ style: S) -> some View { Changed() }
    nonisolated public func buttonStyle<S: PrimitiveButtonStyle>(_ style: S) -> some View {
        Changed()
    }
    nonisolated public func tag<V: Hashable>(_ tag: V, includeOptional: Bool = true) -> some View {
        Changed()
    }
    nonisolated public func confirmationDialog<S: StringProtocol, A: View>(
        _ title: S, isPresented: Binding<Bool>, @ViewBuilder actions: () -> A
    ) -> some View { Changed() }
}

// /shapestyle, /hierarchicalshapestyle, /color, /font (2026-11-24)
public protocol ShapeStyle: Sendable {}
public struct Color: ShapeStyle, Hashable {
    public static let (primary, green, orange, red) = (Color(), Color(), Color(), Color())
}
extension Color: View { public typealias Body = Never }
public struct HierarchicalShapeStyle: ShapeStyle {}
extension ShapeStyle where Self == HierarchicalShapeStyle {
    public static var secondary: HierarchicalShapeStyle { .init() }
}
extension ShapeStyle where Self == Color { public static var red: Color { .init() } }
public struct Font: Hashable, Sendable {
    public static let (headline, caption, title) = (Font(), Font(), Font())
}

// /text, /button, /buttonrole, /primitivebuttonstyle, /borderlessbuttonstyle, /spacer,
// /progressview, /labeledcontent (2026-11-24)
public struct Text: Equatable, Sendable { public init<S: StringProtocol>(_ content: S) {} }
extension Text: View { public typealias Body = Never }
public struct ButtonRole: Equatable, Sendable { public static let destructive = ButtonRole() }
public struct Button<Label: View>: View { public typealias Body = Never }
extension Button where Label == Text {
    nonisolated public init<S: StringProtocol>(
        _ title: S, action: @escaping @MainActor () -> Void
    ) {}
    nonisolated public init<S: StringProtocol>(
        _ title: S, role: ButtonRole?, action: @escaping @MainActor () -> Void
    ) {}
}
public protocol PrimitiveButtonStyle {}
public struct BorderlessButtonStyle: PrimitiveButtonStyle {}
extension PrimitiveButtonStyle where Self == BorderlessButtonStyle {
    public static var borderless: BorderlessButtonStyle { .init() }
}
public struct Spacer: View {
    public typealias Body = Never
    nonisolated public init(minLength: CGFloat? = nil) {}
}
public struct ProgressView: View {
    public typealias Body = Never
    nonisolated public init<V: BinaryFloatingPoint>(value: V?, total: V = 1.0) {}
}
public struct LabeledContent: View {
    public typealias Body = Never
    nonisolated public init<T: StringProtocol, V: StringProtocol>(_ title: T, value: V) {}
}

// /vstack, /hstack, /horizontalalignment, /list, /section, /foreach, /picker, /pickerstyle,
// /segmentedpickerstyle, /navigationstack,
// /navigationlink (2026-11-24)
public enum HorizontalAlignment: Sendable { case leading, center, trailing }
public struct VStack<Content: View>: View {
    public typealias Body = Never
    nonisolated public init(
        alignment: HorizontalAlignment = .center, spacing: CGFloat? = nil,
        @ViewBuilder content: () -> Content
    ) {}
}
public struct HStack<Content: View>: View {
    public typealias Body = Never
    nonisolated public init(spacing: CGFloat? = nil, @ViewBuilder content: () -> Content) {}
}
@MainActor @preconcurrency public struct List<Content: View>: View {
    public typealias Body = Never
    public init(@ViewBuilder content: () -> Content) {}
    public init<Data: RandomAccessCollection, Row: View>(
        _ data: Data, @ViewBuilder rowContent: @escaping (Data.Element) -> Row
    ) where Content == ForEach<Data, Data.Element.ID, Row>, Data.Element: Identifiable {}
}
public struct Section<Content: View>: View {
    public typealias Body = Never
    nonisolated public init<S: StringProtocol>(
        _ title: S, @ViewBuilder content: () -> Content
    ) {}
}
public struct ForEach<Data: RandomAccessCollection, ID: Hashable, Content> {}
extension ForEach: View where Content: View { public typealias Body = Never }
extension ForEach where ID == Data.Element.ID, Content: View, Data.Element: Identifiable {
    nonisolated public init(
        _ data: Data, @ViewBuilder content: @escaping (Data.Element) -> Content
    ) {}
}
extension ForEach where Content: View {
    nonisolated public init(
        _ data: Data, id: KeyPath<Data.Element, ID>,
        @ViewBuilder content: @escaping (Data.Element) -> Content
    ) {}
}
public struct Picker<Selection: Hashable, Content: View>: View {
    public typealias Body = Never
    nonisolated public init<S: StringProtocol>(
        _ title: S, selection: Binding<Selection>, @ViewBuilder content: () -> Content
    ) {}
}
public protocol PickerStyle {}
public struct SegmentedPickerStyle: PickerStyle {}
extension PickerStyle where Self == SegmentedPickerStyle {
    public static var segmented: SegmentedPickerStyle { .init() }
}
public struct NavigationStack<Root: View>: View {
    public typealias Body = Never
    public init(@ViewBuilder root: () -> Root) {}
}
public struct NavigationLink<Label: View, Destination: View>: View {
    public typealias Body = Never
    nonisolated public init(
        @ViewBuilder destination: () -> Destination, @ViewBuilder label: () -> Label
    ) {}
}

// For Examples/Courier alone, as read on 2026-11-26: /navigationstack/init(path:root:),
// /navigationlink/init(value:label:), /view/navigationdestination(for:destination:),
// /textfield, /textfield/init(_:text:) (2026-11-26)
extension NavigationStack {
    public init<Data>(path: Binding<Data>, @ViewBuilder root: () -> Root)
    where
        Data: MutableCollection & RandomAccessCollection & RangeReplaceableCollection,
        Data.Element: Hashable
    {}
}
extension NavigationLink where Destination == Never {
    nonisolated public init<P: Decodable & Encodable & Hashable>(
        value: P?, @ViewBuilder label: () -> Label
    ) {}
}
extension View {
    nonisolated public func navigationDestination<D: Hashable, C: View>(
        for data: D.Type, @ViewBuilder destination: @escaping (D) -> C
    ) -> some View { Changed() }
}
public struct TextField<Label: View>: View { public typealias Body = Never }
extension TextField where Label == Text {
    nonisolated public init<S: StringProtocol>(_ title: S, text: Binding<String>) {}
}

#if !REPRISE_MAC
    // /uiapplicationdelegateadaptor (2026-11-24)
    @MainActor @preconcurrency @propertyWrapper
    public struct UIApplicationDelegateAdaptor<Delegate: NSObject & UIApplicationDelegate> {
        public init(_ type: Delegate.Type = Delegate.self) { fatalError() }
        public var wrappedValue: Delegate { fatalError() }
    }
#endif

// Foundation's, on Apple systems:
// https://developer.apple.com/documentation/foundation/url/applicationsupportdirectory (2026-11-24)
extension URL { public static var applicationSupportDirectory: URL { fatalError() } }
