package provisioner

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"
)

// Name is the provisioner that a StorageClass names to have its volumes made here.
const Name = "holdfast.dev/local"

// className is the class that Run makes, the default of the cluster.
const className = "local"

// resync bounds how long a missed event can delay a volume.
const resync = time.Minute

// Run serves claims until the context ends. It makes the cluster's default StorageClass "local" unless one of
// that name exists. nodeDir is where the host keeps what a node sees as /var/lib, empty
// for a node that it knows nothing of. Only one Run may serve a
// cluster at a time.
func Run(ctx context.Context, kubeconfig string, nodeDir func(node string) string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return fmt.Errorf("volume provisioner: %w", err)
	}
	config.UserAgent = Name
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("volume provisioner: %w", err)
	}
	_, err = client.StorageV1().StorageClasses().Create(ctx, class(), metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("volume provisioner: making its class: %w", err)
	}

	factory := informers.NewSharedInformerFactory(client, resync)
	claims, volumes := factory.Core().V1().PersistentVolumeClaims(), factory.Core().V1().PersistentVolumes()
	disks := &disks{client: client, nodeDir: nodeDir}
	// The library's own limits give up after some failures, or wait a quarter of an hour: too long for a node
	// that is down for a minute.
	maker := controller.NewProvisionController(ctx, client, Name, disks,
		controller.LeaderElection(false), controller.AddFinalizer(true),
		controller.FailedProvisionThreshold(0), controller.FailedDeleteThreshold(0), controller.RateLimiter(backOff()),
		controller.ClaimsInformer(claims.Informer()), controller.VolumesInformer(volumes.Informer()),
		controller.ClassesInformer(factory.Storage().V1().StorageClasses().Informer()))
	grower := newGrower(client, claims.Lister(), volumes.Lister(), disks)
	if err := grower.watch(claims.Informer(), volumes.Informer()); err != nil {
		return fmt.Errorf("volume provisioner: %w", err)
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	go grower.run(ctx)
	maker.Run(ctx)
	return nil
}

func class() *storagev1.StorageClass {
	return &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{
			Name: className, Annotations: map[string]string{"storageclass.kubernetes.io/is-default-class": "true"},
		},
		Provisioner:          Name,
		ReclaimPolicy:        new(corev1.PersistentVolumeReclaimDelete),
		VolumeBindingMode:    new(storagev1.VolumeBindingWaitForFirstConsumer),
		AllowVolumeExpansion: new(true),
	}
}

func backOff() workqueue.TypedRateLimiter[string] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[string](250*time.Millisecond, 10*time.Second)
}
