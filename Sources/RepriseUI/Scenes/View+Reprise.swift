// Not run by the project's own tests, which run on Linux; compiled only with SwiftUI. What is
// decided here is decided by ScenePresence, OpenedLinks and ChannelVisibility.
#if canImport(SwiftUI)
    import Foundation
    public import Reprise
    public import SwiftUI

    extension View {
        /// Connects a scene's root view with a client: taps and forms appear while the scene can
        /// present them, and its links are recorded.
        ///
        /// ```swift
        /// WindowGroup { RootView().reprise(delegate.client) }
        /// ```
        ///
        /// Below it, `@Environment(ClientModel.self)` has the client's model.
        ///
        /// - Parameters:
        ///   - client: the app's client.
        ///   - canPresent: whether the app's own navigation can show another screen, as it cannot
        ///     during onboarding; taps wait meanwhile.
        /// - Returns: the view.
        public func reprise(_ client: RepriseClient, canPresent: Bool = true) -> some View {
            modifier(ScenePart(client: client, canPresent: canPresent))
        }

        /// Reports that a view shows a channel: the channel is caught up before others, its
        /// messages show no banner, and what the view lists counts as read.
        ///
        /// ```swift
        /// List(chat.messages) { message in … }.repriseVisible(chat)
        /// ```
        ///
        /// - Parameters:
        ///   - chat: the channel's model.
        ///   - marksRead: false: the app calls `markRead(upTo:)` itself.
        /// - Returns: the view.
        public func repriseVisible<Body: Codable & Sendable>(
            _ chat: ChannelModel<Body>, marksRead: Bool = true
        ) -> some View {
            modifier(ChannelPart(chat: chat, marksRead: marksRead))
        }
    }

    /// The events of one scene.
    private struct ScenePart: ViewModifier {
        private struct Situation: Equatable {
            var phase: ScenePhase
            var canPresent: Bool
        }

        let client: RepriseClient
        let scenes: SceneModel
        let canPresent: Bool
        @Environment(\.scenePhase) private var phase
        @State private var id = UUID()

        init(client: RepriseClient, canPresent: Bool) {
            self.client = client
            self.canPresent = canPresent
            scenes = SceneModel.of(client)
        }

        func body(content: Content) -> some View {
            content
                .environment(client.model)
                .onChange(of: Situation(phase: phase, canPresent: canPresent), initial: true) {
                    _, now in
                    scenes.sceneChanged(id, .init(now.phase), canPresent: now.canPresent)
                }
                .onDisappear { scenes.sceneClosed(id) }
                .onOpenURL { url in
                    // What cannot be recorded is in the client's state.
                    _ = try? scenes.opened(url, by: .view)
                }
        }
    }

    /// The events of one view of a channel.
    private struct ChannelPart<Message: Codable & Sendable>: ViewModifier {
        let chat: ChannelModel<Message>
        let marksRead: Bool
        @Environment(\.scenePhase) private var phase
        @State private var id = UUID()
        @State private var isShown = false

        func body(content: Content) -> some View {
            content
                .onAppear { isShown = true }
                .onDisappear {
                    isShown = false
                    chat.setVisible(false, in: id)
                }
                .onChange(of: isShown && phase == .active, initial: true) { _, isVisible in
                    chat.setVisible(isVisible, in: id, marksRead: marksRead)
                }
        }
    }

    extension ScenePresence.Phase {
        fileprivate init(_ phase: ScenePhase) {
            switch phase {
            case .active: self = .active
            case .inactive: self = .inactive
            case .background: self = .background
            @unknown default: self = .inactive
            }
        }
    }
#endif
