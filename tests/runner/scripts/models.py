"""scikit-learn's estimators fit and predict on our arrays."""

import numpy as np
from sklearn.cluster import DBSCAN, KMeans
from sklearn.datasets import load_digits, make_blobs
from sklearn.decomposition import NMF, PCA
from sklearn.ensemble import GradientBoostingClassifier, RandomForestRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression, Ridge
from sklearn.metrics import (
    accuracy_score,
    confusion_matrix,
    mean_squared_error,
    pairwise_distances,
    r2_score,
    silhouette_score,
)
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score, train_test_split
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, PolynomialFeatures, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

rng = np.random.default_rng(3)
x = rng.normal(size=(120, 4))
target = x @ np.array([1.0, -2.0, 0.5, 0.0]) + 0.1 * rng.normal(size=120)
label = (target > 0).astype(int)
fit_x, test_x, fit_y, test_y = train_test_split(x, target, random_state=0)

for model in (
    LinearRegression(),
    Ridge(0.5),
    Lasso(0.01),
    RandomForestRegressor(10, random_state=0),
    GaussianProcessRegressor(),
):
    model.fit(fit_x, fit_y)
    predicted = model.predict(test_x)
    print(
        type(model).__name__,
        r2_score(test_y, predicted),
        mean_squared_error(test_y, predicted),
        np.abs(predicted - test_y).max(),
    )
print(LinearRegression().fit(x, target).coef_ * np.ones(4))
for model in (
    LogisticRegression(),
    SVC(),
    KNeighborsClassifier(3),
    DecisionTreeClassifier(random_state=0),
    GradientBoostingClassifier(n_estimators=5),
):
    model.fit(x, label)
    print(
        type(model).__name__,
        model.score(x, label),
        accuracy_score(label, model.predict(x)),
        model.predict(x[:3]),
    )
    print(confusion_matrix(label, model.predict(x)))
print(MLPRegressor(hidden_layer_sizes=(5,), max_iter=20, random_state=0, tol=1).fit(x, target).predict(x[:2]))
print(
    PCA(2).fit_transform(x)[:2],
    PCA(2).fit(x).explained_variance_ratio_.sum(),
    NMF(2, random_state=0).fit_transform(np.abs(x))[:2],
)
blobs, which = make_blobs(60, centers=3, random_state=0)
kmeans = KMeans(3, n_init=2, random_state=0).fit(np.asarray(blobs))
print(
    np.bincount(kmeans.labels_),
    kmeans.cluster_centers_[np.argsort(kmeans.cluster_centers_[:, 0])],
    silhouette_score(blobs, kmeans.labels_),
)
print(
    np.unique(DBSCAN(eps=1.0).fit_predict(np.array(blobs))),
    NearestNeighbors(n_neighbors=2).fit(x).kneighbors(x[:2]),
)
print(
    StandardScaler().fit_transform(x).std(axis=0),
    MinMaxScaler().fit_transform(x).max(axis=0),
    PolynomialFeatures(2).fit_transform(x[:1]),
)
print(
    OneHotEncoder(sparse_output=False).fit_transform(np.arange(3).reshape(-1, 1)), pairwise_distances(x[:3])
)
print(cross_val_score(make_pipeline(StandardScaler(), Ridge()), x, target, cv=KFold(3)))
print(GridSearchCV(Ridge(), {"alpha": np.logspace(-2, 2, 3)}, cv=3).fit(x, target).best_params_)
for fitting, testing in KFold(2).split(x):
    print(Ridge().fit(x[fitting], target[fitting]).score(x[testing], target[testing]), fitting.sum())
digits = load_digits()
pixels = digits.data / 16.0
print(
    LogisticRegression(max_iter=30, tol=1)
    .fit(pixels[:300], digits.target[:300])
    .score(pixels[300:600], digits.target[300:600])
)
