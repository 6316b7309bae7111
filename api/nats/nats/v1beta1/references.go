package v1beta1

// ObjectReference names an object of a kind that the field knows.
type ObjectReference struct {
	// name is the object's name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
	// namespace is the object's namespace; the referrer's own when unset. Another namespace has to admit the
	// reference by a NatsReferenceGrant.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`
}

// NamespaceFrom is the namespace that a referrer in that namespace means.
func (r ObjectReference) NamespaceFrom(referrer string) string {
	if r.Namespace == "" {
		return referrer
	}
	return r.Namespace
}

// Credentials name the credentials of a NATS user.
type Credentials struct {
	// secretKeyRef is where the credentials lie, in the referrer's namespace: the text of a credentials file, as
	// nsc and a NatsUser write it.
	// +required
	SecretKeyRef CredentialsSecretKey `json:"secretKeyRef,omitzero"`
}

// CredentialsSecretKey is one key of a Secret that holds credentials.
type CredentialsSecretKey struct {
	// name is the Secret's name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
	// key is the key in the Secret; user.creds when unset.
	// +optional
	// +kubebuilder:default="user.creds"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key,omitempty"`
}
